"""Releases as users of the command line meet them: which there are, and what is wrong with the one they name."""

from __future__ import annotations

import argparse
import gc
import io
import socket
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from opwright.cli.input_arguments import ask_whole_download
from opwright.cli.main import main
from opwright.release.inputs import from_version
from opwright.release.rules import Rules
from opwright.release.version import NEWEST, OLDEST
from tests.release.fake_torch import FakeIndex, wheel_bytes, write_source_tree

Program = Callable[..., tuple[int, str, str]]


@pytest.fixture
def opwright(capsys: pytest.CaptureFixture[str]) -> Iterator[Program]:
    """Runs the program with the given arguments; gives its exit status and both its outputs."""

    def run(*arguments: object) -> tuple[int, str, str]:
        status = main([str(argument) for argument in arguments])
        printed = capsys.readouterr()
        return status, printed.out, printed.err

    yield run
    gc.enable()


@pytest.fixture
def generate(opwright: Program, tmp_path: Path) -> Program:
    """Runs `opwright generate` for the one family that needs no templates."""
    return lambda *arguments: opwright("generate", *arguments, "--only", "declarations_yaml", "--out", tmp_path / "out")


def rows(text: str) -> dict[str, list[str]]:
    """The words of each line of the table of releases, by release."""
    lines = [line.split() for line in text.splitlines() if line[:1].isdigit()]
    return {words[0]: words[1:] for words in lines}


def test_the_list_has_what_is_offered_and_what_is_cached(opwright: Program, index: FakeIndex) -> None:
    """Newest first; releases that are too old are left out, withdrawn ones too."""
    for version in ("2.3.0", "2.9.1", "2.13.0", "2.13.1", "2.99.0"):
        index.add(version)
    index.yanked[index.add("2.14.0")] = "broken"
    from_version("2.13.0")
    status, printed, _ = opwright("releases")
    assert status == 0
    assert list(rows(printed)) == ["2.99.0", "2.13.1", "2.13.0", "2.9.1"]
    assert rows(printed)["2.13.0"] == ["2.13", "offered", "cached"]
    assert rows(printed)["2.13.1"] == ["2.13", "offered", "-"]
    assert rows(printed)["2.99.0"] == [NEWEST.series, "offered", "-"]


def test_the_list_without_an_index_has_what_is_cached(
    opwright: Program, index: FakeIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An index that does not answer is said to be silent, and is no error."""
    index.add("2.13.0")
    from_version("2.13.0")
    monkeypatch.setenv("PIP_INDEX_URL", silent_address())
    status, printed, _ = opwright("releases")
    assert status == 0
    assert rows(printed) == {"2.13.0": ["2.13", "-", "cached"]}
    assert "does not answer" in printed
    index.requests.clear()
    assert "was not asked" in opwright("releases", "--offline")[1]
    assert not index.requests


def test_the_rules_of_a_release_are_listed(opwright: Program) -> None:
    """Every row of the table, with its value in that release and its range."""
    _, printed, _ = opwright("releases", "2.12.1")
    for row in Rules.rows():
        assert f"\n{row.name}: " in printed
        assert row.what.split()[0] in printed
    assert "trace_type_shards: 5 (before 2.13)" in printed
    assert "enum_tag_is_header_only: yes (from 2.12 on)" in printed
    assert "set_output_takes_names: yes (before 2.13)" in printed
    assert "operators_shards: 5 (in every release)" in printed


def test_the_differences_of_two_releases_are_listed(opwright: Program) -> None:
    """Only the rows whose values differ, and the operators by which the tables do."""
    _, printed, _ = opwright("releases", "2.12", "2.13")
    assert "trace_type_shards: 5 -> 10 (changed in 2.13)" in printed
    assert "native_aot_stubs" not in printed
    _, printed, _ = opwright("releases", "2.14", "2.15")
    assert "derivatives for complex tensors: +nan_to_num" in printed


@pytest.mark.parametrize(
    ("named", "code"), [(["2.3"], "E0512"), (["newest"], "E0517"), (["2.9", "2.10", "2.11"], "E0517")]
)
def test_a_release_that_is_none_is_refused(opwright: Program, named: list[str], code: str) -> None:
    """Too old, no version at all, or too many of them."""
    status, printed, said = opwright("releases", *named)
    assert (status, printed) == (1, "")
    assert f"error[{code}]" in said


def silent_address() -> str:
    """The address of an index at which nothing listens."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{listener.getsockname()[1]}/simple"


def test_the_summary_names_the_release_and_its_origin(generate: Program, index: FakeIndex) -> None:
    """Which release was generated, and from where: the index, later the cache."""
    name = index.add("2.13.0")
    status, printed, _ = generate("--torch", "2.13.0")
    assert status == 0
    assert printed.startswith(f"PyTorch 2.13.0 from parts of {name} at 127.0.0.1")
    assert "(cached)" in generate("--torch", "2.13.0", "--rocm")[1]


@pytest.mark.parametrize("command", ["dump", "explain", "coverage"])
def test_commands_look_for_kernels_compiled_ahead_of_time(opwright: Program, tmp_path: Path, command: str) -> None:
    """A folder of declarations that is not there is told by commands that read operators."""
    inputs = write_source_tree(tmp_path / "tree", "2.15.0") / "aten" / "src" / "ATen"
    (tmp_path / "acme.yaml").write_text("backend: XPU\ncpp_namespace: acme\nsupported:\n- add.Tensor\n", "utf-8")
    words: dict[str, list[object]] = {"explain": ["add"], "coverage": ["--backend", tmp_path / "acme.yaml"]}
    named = ["--source-path", inputs, "--native-aot-ops-dir", tmp_path / "missing"]
    _, printed, said = opwright(command, *words.get(command, []), *named)
    assert f"[W0503]: there is no folder `{tmp_path / 'missing'}` of kernels" in printed + said


def test_a_release_can_be_said(generate: Program, tmp_path: Path) -> None:
    """`--release` goes before what the inputs say of themselves."""
    tree = write_source_tree(tmp_path / "tree", "2.13.0a0") / "aten" / "src" / "ATen"
    (tmp_path / "tree/torch/_native/ops").mkdir(parents=True)
    assert generate("--source-path", tree)[1].startswith("PyTorch 2.13.0a0 from")
    assert generate("--source-path", tree, "--release", "2.10")[1].startswith("PyTorch 2.10.0 from")
    status, printed, said = generate("--source-path", tree, "--release", "2.99")
    assert status == 0
    assert printed.startswith("PyTorch 2.99.0 from")
    assert f"note[W0501]: PyTorch 2.99.0 is newer than {NEWEST.series}" in said


def test_a_release_that_is_too_old_is_refused(generate: Program, index: FakeIndex) -> None:
    """Whether it is named or what the wheel says; the range is told."""
    index.add("2.3.0")
    index.add("2.13.0")
    for arguments in (("--torch", "2.3.0"), ("--torch", "2.13.0", "--release", "2.3")):
        status, _, said = generate(*arguments)
        assert status == 1
        assert (
            f"error[E0512]: PyTorch 2.3.0 is older than the releases supported, {OLDEST.series} to {NEWEST.series}"
            in said
        )


@pytest.mark.parametrize(
    ("version", "family", "oldest"),
    [("2.7", "headers", "2.8"), ("2.8", "torch_stubs", "2.9")],
)
def test_a_family_of_newer_releases_is_refused(
    opwright: Program, tmp_path: Path, version: str, family: str, oldest: str
) -> None:
    """The oldest release with the family is told, and no file is written."""
    tree = write_source_tree(tmp_path / "tree", "2.13.0") / "aten" / "src" / "ATen"
    out = tmp_path / "out"
    status, _, said = opwright("generate", "--source-path", tree, "--release", version, "--only", family, "--out", out)
    assert status == 1
    assert f"for PyTorch {version}" in said
    assert "error[E0524]" in said
    assert f"name PyTorch {oldest} or newer" in said
    assert not out.exists()


def unknown(index: FakeIndex) -> None:
    """The index has another version only."""
    index.add("2.12.0")


def withdrawn(index: FakeIndex) -> None:
    """The index withdrew the version."""
    index.yanked[index.add("2.13.0")] = "does not import"


def truncated(index: FakeIndex) -> None:
    """Each download ends before its end."""
    index.add("2.13.0")
    index.cut_after = 100


def altered(index: FakeIndex) -> None:
    """The wheel's record has other digests."""
    index.add("2.13.0", wheel_bytes("2.13.0", record="A" * 43))


def without_inputs(index: FakeIndex) -> None:
    """The wheel is of something else."""
    index.add("2.13.0", wheel_bytes("2.13.0", {"torch/version.py": "__version__ = '2.13.0'\n"}))


def without_ranges(index: FakeIndex) -> None:
    """The index sends whole files only, and the wheel is not small."""
    index.add("2.13.0", wheel_bytes("2.13.0", filler=4_000_000))
    index.ranges = False


@pytest.mark.parametrize(
    ("spoil", "code", "help"),
    [
        (unknown, "E0506", "2.12.0"),
        (withdrawn, "E0507", "does not import"),
        (truncated, "E0509", ""),
        (altered, "E0510", "RECORD"),
        (without_inputs, "E0505", "2.4 or newer"),
        (without_ranges, "E0511", "--yes"),
    ],
)
def test_a_version_that_cannot_be_had_is_a_diagnostic(
    generate: Program, index: FakeIndex, tmp_path: Path, spoil: Callable[[FakeIndex], None], code: str, help: str
) -> None:
    """One error with its code and a way out, exit status 1, and nothing is written."""
    spoil(index)
    status, printed, said = generate("--torch", "2.13.0")
    assert (status, printed) == (1, "")
    assert f"error[{code}]" in said
    assert help in said
    assert "Traceback" not in said
    assert not (tmp_path / "out").exists()


def test_a_silent_index_is_a_diagnostic(generate: Program, quiet_pip: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It names the other ways to a PyTorch."""
    monkeypatch.setenv("PIP_INDEX_URL", silent_address())
    status, _, said = generate("--torch", "2.13.0")
    assert status == 1
    assert "error[E0508]" in said
    assert "--source-path" in said


def test_a_whole_wheel_is_downloaded_where_that_is_agreed_to(generate: Program, index: FakeIndex) -> None:
    """`--yes` agrees beforehand."""
    without_ranges(index)
    status, printed, _ = generate("--torch", "2.13.0", "--yes")
    assert status == 0
    assert printed.startswith("PyTorch 2.13.0 from")


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (None, "E0504"),
        (b"<html>not found</html>", "E0504"),
        (wheel_bytes("2.13.0")[:-40], "E0504"),
        (wheel_bytes("2.13.0", {"torch/version.py": ""}), "E0505"),
        (wheel_bytes("2.13.0", record="A" * 43), "E0510"),
        (wheel_bytes("2.3.0"), "E0512"),
    ],
    ids=["missing", "page", "cut short", "without inputs", "altered", "too old"],
)
def test_a_wheel_that_cannot_be_used_is_a_diagnostic(
    generate: Program, tmp_path: Path, content: bytes | None, code: str
) -> None:
    """A wheel in a file has the same faults as one at an index."""
    path = tmp_path / "torch-2.13.0-cp312-cp312-win_amd64.whl"
    if content is not None:
        path.write_bytes(content)
    status, printed, said = generate("--torch", path)
    assert (status, printed) == (1, "")
    assert f"error[{code}]" in said
    assert "Traceback" not in said


class Terminal(io.StringIO):
    """A stream that says that a person sits at it."""

    def isatty(self) -> bool:
        """Yes."""
        return True


@pytest.mark.parametrize(
    ("answer", "agreed"), [("y\n", True), ("Yes\n", True), ("\n", False), ("no\n", False), ("", False)]
)
def test_a_person_is_asked_before_a_large_download(monkeypatch: pytest.MonkeyPatch, answer: str, agreed: bool) -> None:
    """The question names the file and its size; anything but a yes is a no."""
    asked = Terminal()
    monkeypatch.setattr("sys.stdin", Terminal(answer))
    monkeypatch.setattr("sys.stderr", asked)
    ask = ask_whole_download(argparse.Namespace(yes=False))
    assert ask("torch-2.13.0.whl", 90_000_000) is agreed
    assert "torch-2.13.0.whl (90 MB)? [y/N]" in asked.getvalue()


def test_nobody_is_asked_where_nobody_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """In a script the answer is no, unless the flag gave it beforehand."""
    monkeypatch.setattr("sys.stdin", io.StringIO("y\n"))
    assert not ask_whole_download(argparse.Namespace(yes=False))("torch.whl", None)
    assert ask_whole_download(argparse.Namespace(yes=True))("torch.whl", None)
