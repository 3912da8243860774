"""`opwright generate` and the drop-in program as their users meet them."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

Program = Callable[..., "subprocess.CompletedProcess[str]"]

EIGHT_MISTAKES = """\
- func: first(Tensor self, Tenso other) -> Tensor
- func: second(Tensor self) -> Tensor
  dispatch:
    CPUU: second_cpu
- func: third(Tensor self, Tensor self) -> Tensor
- func: fourth(Tensor self, int n=abc) -> Tensor
  variant: function
- func: fifth_(Tensor self) -> Tensor
- func: sixth(Tensor self) -> Tensor
  variants: functional
- func: seventh(Tensor self) -> Tensor
  tags: poinwise
"""

#: Where each mistake of the text above is, as line and column.
EIGHT_PLACES = [(1, 28), (4, 5), (5, 28), (6, 35), (7, 3), (8, 9), (10, 13), (12, 9)]


@pytest.fixture
def opwright() -> Program:
    """Runs the program with the given arguments and gives what it printed and its exit status."""

    def run(*arguments: object) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "opwright", *map(str, arguments)]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    return run


@pytest.fixture
def inputs(tmp_path: Path, reference_inputs: Path) -> Path:
    """A copy of PyTorch's inputs that a test may spoil."""
    folder = tmp_path / "aten" / "src" / "ATen"
    shutil.copytree(reference_inputs, folder)
    return folder


def places(text: str) -> list[tuple[int, int]]:
    """The line and column of every diagnostic that was printed."""
    return [(int(line), int(column)) for line, column in re.findall(r"--> .*?:(\d+):(\d+)\n", text)]


def test_eight_mistakes_give_eight_diagnostics(opwright: Program, inputs: Path, tmp_path: Path) -> None:
    """One run reports every mistake of a file, each at its line and column, and writes nothing."""
    (inputs / "native" / "native_functions.yaml").write_text(EIGHT_MISTAKES)
    done = opwright(
        "generate", "--source-path", inputs, "--release", "2.13", "--only", "headers", "--out", tmp_path / "out"
    )
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert places(done.stderr) == EIGHT_PLACES
    assert not (tmp_path / "out").exists()


def spoil_missing(path: Path) -> None:
    """The file is not there."""
    path.unlink()


def spoil_directory(path: Path) -> None:
    """A folder stands in its place."""
    path.unlink()
    path.mkdir()


def spoil_empty(path: Path) -> None:
    """It has no content."""
    path.write_text("")


def spoil_encoding(path: Path) -> None:
    """It is not UTF-8."""
    path.write_bytes(b"- func: a\xff(Tensor self) -> Tensor\n")


def spoil_syntax(path: Path) -> None:
    """It is no YAML."""
    path.write_text("- func: 'never closed\n")


def spoil_shape(path: Path) -> None:
    """It is YAML of another shape."""
    path.write_text("func: one(Tensor self) -> Tensor\n")


@pytest.mark.parametrize(
    "spoil", [spoil_missing, spoil_directory, spoil_empty, spoil_encoding, spoil_syntax, spoil_shape]
)
@pytest.mark.parametrize("name", ["native_functions.yaml", "tags.yaml"])
def test_a_spoilt_file_is_a_diagnostic_and_old_outputs_stay(
    opwright: Program, inputs: Path, tmp_path: Path, spoil: Callable[[Path], None], name: str
) -> None:
    """Whatever is wrong with an input as a file: status 1, its name in the message, no traceback, outputs as before."""
    out = tmp_path / "out"
    old = out / "aten" / "src" / "ATen" / "Functions.h"
    old.parent.mkdir(parents=True)
    old.write_text("old\n")
    spoil(inputs / "native" / name)
    done = opwright("generate", "--source-path", inputs, "--release", "2.13", "--out", out, "--only", "headers")
    assert done.returncode == 1, done.stderr
    assert "Traceback" not in done.stderr
    assert re.search(r"error\[E\d{4}\]", done.stderr)
    assert name in done.stderr or str(inputs) in done.stderr
    assert old.read_text() == "old\n"


@pytest.mark.thorough
def test_a_template_with_an_unknown_slot_is_shown(opwright: Program, inputs: Path, tmp_path: Path) -> None:
    """A slot that nothing fills is an error at its place in the template."""
    template = inputs / "templates" / "Functions.h"
    template.write_text("${no_such_slot}\n" + template.read_text())
    done = opwright(
        "generate", "--source-path", inputs, "--release", "2.13", "--out", tmp_path / "out", "--only", "headers"
    )
    assert done.returncode == 1
    assert "no_such_slot" in done.stderr
    assert "Functions.h:1:" in done.stderr
    assert not (tmp_path / "out" / "aten" / "src" / "ATen" / "Functions.h").exists()


def test_an_output_folder_that_is_a_file_is_a_diagnostic(opwright: Program, tmp_path: Path) -> None:
    """Where the output folder cannot be made, the run says so with status 1."""
    (tmp_path / "out").write_text("in the way")
    done = opwright("generate", "--torch", "auto", "--out", tmp_path / "out", "--only", "headers")
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert str(tmp_path / "out") in done.stderr
    assert (tmp_path / "out").read_text() == "in the way"


@pytest.mark.parametrize(
    "arguments",
    [
        ["generate"],
        ["generate", "--out", "x", "--only", "heders"],
        ["generate", "--out", "x", "--torch", "auto", "--source-path", "y"],
        ["generate", "--out", "", "--torch", "auto"],
        ["generate", "--out", "x", "--torch", ""],
        ["generate", "--out", "x", "--source-path", ""],
        ["generate", "--out", "x", "--jobs", "9" * 5_000],
        ["generate", "--out", "x", "--shard", "0/" + "9" * 5_000],
        ["generate", "--out", "x", "--shard", "0/\u00b2"],
        ["stubs", "--out", "x", "--project", 'a"\nb'],
        ["stubs", "--out", "x", "--project", ""],
        ["explode"],
        [],
        ["explain", "E9999"],
    ],
)
def test_wrong_usage_has_status_two(opwright: Program, arguments: list[str]) -> None:
    """A call that the program cannot make sense of exits with 2 and says why on standard error."""
    done = opwright(*arguments)
    assert done.returncode == 2
    assert done.stderr


def test_a_bug_of_ours_has_status_seventy(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """An exception that is no fault of the user's asks for a report."""
    from opwright.cli import console

    monkeypatch.setattr("gc.disable", lambda: None)

    def broken(sink: object) -> int:
        raise RuntimeError("unforeseen")

    assert console.run(broken) == 70
    assert "bug of Opwright" in capsys.readouterr().err


def test_a_second_run_writes_nothing(opwright: Program, tmp_path: Path) -> None:
    """The summary tells operators, files, written and unchanged; a second run finds all files as they should be."""
    out = tmp_path / "out"
    first = opwright("generate", "--torch", "auto", "--out", out, "--only", "headers")
    assert first.returncode == 0, first.stderr
    assert re.search(r"3,101 operators, 7,\d\d\d files", first.stdout)
    before = {path: path.stat().st_mtime_ns for path in out.rglob("*.h")}
    second = opwright("generate", "--torch", "auto", "--out", out, "--only", "headers")
    assert second.returncode == 0
    assert before == {path: path.stat().st_mtime_ns for path in out.rglob("*.h")}
    assert len(before) > 7000


def test_every_command_has_help(opwright: Program) -> None:
    """`--help` of the program names each command, and each command has help of its own."""
    from opwright.cli.main import COMMANDS

    shown = opwright("--help").stdout
    for command in COMMANDS:
        assert command in shown
        assert opwright(command, "--help").returncode == 0


def test_explain_prints_the_page_of_a_code(opwright: Program) -> None:
    """`explain` finds codes in any case, and lists them all without an argument."""
    assert opwright("explain", "e0202").stdout.startswith("E0202")
    listed = opwright("explain").stdout
    assert "E0202" in listed
    assert "E0601" in listed


def test_the_drop_in_program_says_which_folder_it_cannot_make(tmp_path: Path, reference_inputs: Path) -> None:
    """A file in the way of an output folder is a diagnostic with status 1."""
    (tmp_path / "way").write_text("in the way")
    command = [sys.executable, "-m", "opwright.torchgen.gen", "-s", reference_inputs, "-d", tmp_path / "way" / "aten"]
    command += ["--aoti-install-dir", tmp_path / "aoti", "--generate", "declarations_yaml"]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 1, done.stderr
    assert "error[E0607]" in done.stderr
    assert "Traceback" not in done.stderr
