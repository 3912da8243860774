"""The engine of the playground, which runs in browsers, says and makes what the command line does."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from docs.site.browser.engine import FILES, answer
from docs.site.playground import CODE_EXAMPLES, EXAMPLES, release_files
from opwright.cli.main import main


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The inputs that the site serves."""
    folder = tmp_path_factory.mktemp("inputs")
    for path, data in release_files("auto"):
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(data)
    return folder / "torchgen" / "packaged" / "ATen"


def answered(kind: str, text: str, formulas: str, inputs: Path) -> tuple[dict[str, str], list[dict[str, Any]]]:
    """The files and the diagnostics of an answer."""
    said = json.loads(answer(kind, text, formulas, str(inputs)))
    return said["files"], said["diagnostics"]


@pytest.mark.parametrize("example", EXAMPLES, ids=[row["title"] for row in EXAMPLES])
def test_examples(example: dict[str, str], inputs: Path) -> None:
    """Each example generates files without a diagnostic, but the one that shows mistakes."""
    files, diagnostics = answered(example["kind"], example["text"], example["formulas"], inputs)
    if "mistakes" in example["title"]:
        assert [row["code"] for row in diagnostics] == ["E0202", "E0310"]
        assert not files
    else:
        assert diagnostics == []
        assert files


@pytest.mark.thorough
@pytest.mark.parametrize("example", [row for row in EXAMPLES if row["kind"] != "pytorch"], ids=lambda row: row["title"])
def test_files_are_those_of_the_command_line(example: dict[str, str], inputs: Path, tmp_path: Path) -> None:
    """`opwright generate` writes the same bytes from the same files and the installed PyTorch."""
    name, formulas = FILES[example["kind"]]
    (tmp_path / name).write_text(example["text"])
    (tmp_path / formulas).write_text(example["formulas"])
    command = ["-m", "opwright", "generate", f"--{example['kind']}", name, "--torch", "auto", "--out", "out"]
    subprocess.run([sys.executable, *command], cwd=tmp_path, check=False, capture_output=True)
    out = tmp_path / "out"
    written = {path.relative_to(out).as_posix(): path for path in out.rglob("*") if path.is_file()}
    own = {name: path.read_text() for name, path in written.items() if not name.startswith(".opwright/")}
    assert answered(example["kind"], example["text"], example["formulas"], inputs)[0] == own


def test_an_entry_of_pytorch_and_its_derivative(inputs: Path) -> None:
    """An entry of `native_functions.yaml` shows the files that name its operator, autograd's among them."""
    example = next(row for row in EXAMPLES if row["kind"] == "pytorch")
    files, _ = answered("pytorch", example["text"], example["formulas"], inputs)
    assert "aten/src/ATen/ops/soft_clip_ops.h" in files
    assert any("SoftClipBackward0" in text for path, text in files.items() if "autograd" in path)
    assert all("soft_clip" in text or "SoftClip" in text for text in files.values())


@pytest.mark.thorough
@pytest.mark.parametrize("kind", FILES)
def test_examples_of_codes(kind: str, inputs: Path) -> None:
    """The example on the page of a code has that code and no other, and what to use instead has none."""
    found = {
        code: [
            {row["code"] for text, formulas in [files.values()] for row in answered(kind, text, formulas, inputs)[1]}
            for files in (example.wrong, example.right)
        ]
        for code, example in CODE_EXAMPLES.items()
        if example.kind == kind
    }
    assert found == {code: [{code}, set()] for code in found}
    assert len(found) > 30


COMMANDS = {code: example for code, example in CODE_EXAMPLES.items() if not example.kind}


@pytest.mark.thorough
@pytest.mark.parametrize("subject", sorted({code[1:3] for code in COMMANDS}))
def test_examples_of_commands(
    subject: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """The command on the page of a code reports that code and no other, and none once the files are as it says."""
    found = {}
    for code, example in COMMANDS.items():
        if code[1:3] == subject:
            sides = {"wrong": (example.wrong, example.command), "right": (example.right, example.right_command)}
            found[code] = [
                reported(tmp_path / code / side, files, command, monkeypatch, capfd)
                for side, (files, command) in sides.items()
            ]
    assert found == {code: [{code}, set()] for code in found}


def reported(
    folder: Path,
    files: dict[str, str],
    command: str,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> set[str]:
    """The codes that a command reports in a folder with files."""
    folder.mkdir(parents=True)
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    monkeypatch.chdir(folder)
    program, *arguments = shlex.split(command)
    if program == "opwright" and "--plugin" in arguments:
        # Plug-ins of one name, from other folders, would meet in one process.
        program, arguments = "python", ["-m", "opwright", *arguments]
    if program == "opwright":
        main(arguments)
    else:
        subprocess.run([sys.executable, *arguments], check=False)
    said = capfd.readouterr()
    return set(re.findall(r"(?m)^(?:error|warning|note)\[(\w+)\]", said.out + said.err))


def test_the_file_of_pytorch(inputs: Path) -> None:
    """PyTorch's file has no mistake beside its own formulas; the files are those of entries that differ from it."""
    text = (inputs / "native" / "native_functions.yaml").read_text(encoding="utf-8")
    assert answered("pytorch", text, "", inputs)[1] == []
    entry = "\n- func: mine(Tensor self) -> Tensor\n  dispatch:\n    CPU: mine\n"
    formula = "- name: mine(Tensor self) -> Tensor\n  self: threshold_backward(grad, self, 0)\n"
    files, diagnostics = answered("pytorch", text + entry, formula, inputs)
    assert diagnostics == []
    assert any("MineBackward0" in content for content in files.values())
    assert all("mine" in content or "Mine" in content for content in files.values())


@pytest.mark.parametrize(
    ("old", "new", "code"),
    [
        ("    CPU, CUDA: relu\n", "    CPUU, CUDA: relu\n", "E0310"),
        ("- func: relu(Tensor", "- fnc: relu(Tensor", "E0303"),
        ("- func: relu(Tensor self) -> Tensor\n", "- func: relu_(Tensor(a!) self) -> Tensor(a!)\n", "E0410"),
    ],
)
def test_edits_of_the_file_of_pytorch(old: str, new: str, code: str, inputs: Path) -> None:
    """A mistake in one of PyTorch's entries is reported at its line, though the others are not loaded."""
    text = (inputs / "native" / "native_functions.yaml").read_text(encoding="utf-8")
    files, diagnostics = answered("pytorch", text.replace(old, new, 1), "", inputs)
    assert not files
    place = next(row["place"] for row in diagnostics if row["code"] == code)
    assert new.rstrip("\n") in text.replace(old, new, 1).splitlines()[place["start"]["line"] - 1]


def test_formulas_of_pytorch_are_known(inputs: Path) -> None:
    """An entry of PyTorch has its derivative; a formula of an operator that is not there is reported."""
    entry = "- func: relu(Tensor self) -> Tensor\n  dispatch:\n    CPU: relu\n"
    files, diagnostics = answered("pytorch", entry, "", inputs)
    assert diagnostics == []
    assert any("ReluBackward0" in content for content in files.values())
    text = (inputs / "native" / "native_functions.yaml").read_text(encoding="utf-8")
    for around in (entry, text):
        _, diagnostics = answered("pytorch", around, "- name: mine(Tensor self) -> Tensor\n  self: grad\n", inputs)
        assert [(row["code"], row["place"]["start"]["line"]) for row in diagnostics] == [("E0904", 1)]


def test_a_mistake_in_a_formula_is_at_its_place(inputs: Path) -> None:
    """A formula that does not parse is reported in the second file."""
    text, formulas = EXAMPLES[0]["text"], EXAMPLES[0]["formulas"].replace("square())", "square()")
    _, diagnostics = answered("library", text, formulas, inputs)
    assert [(row["code"], row["place"]["path"], row["place"]["start"]["line"]) for row in diagnostics] == [
        ("E0937", "derivatives.yaml", 2)
    ]


def test_unknown_operators_get_the_suggestion_of_the_whole_release(inputs: Path) -> None:
    """Only the operators that a backend names are loaded, and those that a message may suggest."""
    files, (fault,) = answered("backend", "backend: PrivateUse1\ncpp_namespace: npu\nsupported:\n- rellu\n", "", inputs)
    assert not files
    assert (fault["code"], fault["place"]["start"]["line"], fault["help"]) == ("E1306", 4, "did you mean `relu`?")


@pytest.mark.thorough
@pytest.mark.parametrize("kind", FILES)
def test_other_files_of_the_visitor_are_not_there(kind: str, inputs: Path) -> None:
    """Texts that name files, or are empty or no YAML, are answered with diagnostics and never fail."""
    for text in (
        "",
        "a: [",
        "namespace: acme\nderivatives: /etc/passwd\noperators: []\n",
        "- func: f() -> ()\n  x: 1\n",
    ):
        files, diagnostics = answered(kind, text, "", inputs)
        assert files or diagnostics or not text
        assert "root:" not in json.dumps(diagnostics)


def test_what_browsers_lack_is_not_needed(inputs: Path) -> None:
    """The engine answers where Python has no processes, locks of files, and clock of threads, as in Pyodide."""
    program = (
        "import sys, time; del time.thread_time\n"
        "sys.modules |= dict.fromkeys(('_posixsubprocess', 'fcntl', 'multiprocessing', 'ssl', 'termios'))\n"
        "from docs.site.browser.engine import answer; print(answer(*sys.argv[1:]))"
    )
    example = EXAMPLES[0]
    kind, text, formulas = (example[name] for name in ("kind", "text", "formulas"))
    command = [sys.executable, "-c", program, kind, text, formulas, str(inputs)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["files"] == answered(kind, text, formulas, inputs)[0] != {}
