"""Files of strangers for every argument of every command: names that are not UTF-8, and numbers of 20,000 digits."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from opwright.cli.arguments import Parser
from opwright.cli.main import COMMANDS, _load, main
from tests.plugins.test_working_folder import BACKEND, COMMAND_RUNS

#: What stands for paths in the help of arguments.
PATHS = (
    "FILE",
    "DIR",
    "PATH",
    "DUMP",
    "SOURCE",
    "TREE",
    "INPUT",
    "FILE:LINE",
    "OLD",
    "NEW",
    "EXE",
    "PYTHON",
    "TORCH",
    "SPEC",
    "ENTRY",
    "CANDIDATE",
    "OTHER",
)
DIGITS = "9" * 20_000
#: The end of a name, and a text.
NUMBERS = [
    (".yaml", f"- func: f(Tensor a, int b={DIGITS[:15_000]}) -> Tensor\n  backend: {DIGITS}\n"),
    (".yml", f"namespace: {DIGITS}\nbackend: 0x{'f' * 19_000}\noperators:\n- func: f(int[{DIGITS[1:]}] a) -> ()\n"),
    (".json", f'{{"format": {DIGITS}, "kind": "library", "files": [{DIGITS}], "entries": [["a", {DIGITS}, "b"]]}}'),
    (".cpp", f'TORCH_LIBRARY(acme, m) {{ m.def("f(Tensor a, int b=0x{"f" * 15_000}) -> Tensor"); }}\n// {DIGITS}\n'),
]
#: A library whose operator can be judged.
JUDGED = """\
namespace: mine
operators:
- func: one(Tensor x) -> Tensor
  dispatch: {CPU: one}
  dims: {x: n, return: n}
  dtypes: {x: floating}
  reference: torch:abs
"""
#: The start of a name: bytes that are not UTF-8, an escape that deletes a line, and line breaks.
NAME = os.fsdecode(b"a\xff\xc3\x1b[2K\rb\n")


def path_arguments() -> list[tuple[str, str]]:
    """Each argument of a command that takes a path: the command with the option, or the name of a positional one."""
    arguments = []
    for command in COMMANDS:
        parser = Parser(command, "")
        _load(command).add_arguments(parser)
        for action in parser._actions:
            if action.nargs != 0 and action.choices is None and action.metavar in PATHS:
                arguments.append((command, action.option_strings[-1] if action.option_strings else action.dest))
    return arguments


def words_of(command: str, argument: str, path: str) -> list[str]:
    """A run of a command that has a path as an argument."""
    run = [*COMMAND_RUNS[command]] if command != "accept" or argument == "entry" else ["judged.yaml", "candidate.py"]
    if argument in run:
        run[run.index(argument) + 1] = path
    elif command == "dump" and argument in ("--backend", "--from"):
        run = [argument, path]
    elif command == "import" and argument == "--samples":
        # Samples call a library that is installed.
        run[0] = "json"
        run += [argument, path]
    elif argument.startswith("-"):
        run += [argument, path]
    else:
        place = -1 if argument in ("new", "folder", "candidate") else 0
        run[place] = f"{path}:{DIGITS}" if command == "where" else path
    return [command, *run]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder, with the files that the runs name."""
    (tmp_path / "b.yaml").write_text(BACKEND)
    (tmp_path / "l.yaml").write_text("namespace: mine\noperators:\n- func: one(Tensor x) -> Tensor\n")
    (tmp_path / "judged.yaml").write_text(JUDGED)
    # It is loaded and called, and refused.
    (tmp_path / "candidate.py").write_text("def one(x):\n    return x\n")
    (tmp_path / "selection.yaml").write_text("operators: {}\n")
    (tmp_path / "ops.cpp").write_text('TORCH_LIBRARY(acme, m) { m.def("one(Tensor x) -> Tensor"); }\n')
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_commands_take_files() -> None:
    """Each command that reads files has arguments that the test below tries, and a run that is tried with them."""
    commands = {command for command, _ in path_arguments()}
    assert set(COMMANDS) - commands == {"plugins", "releases", "schema", "completion"}
    assert commands <= set(COMMAND_RUNS)


@pytest.mark.thorough
@pytest.mark.parametrize(("command", "argument"), path_arguments())
def test_hostile_files_are_answered(
    command: str, argument: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whatever argument names such a file, the command ends as for mistakes, and no control character is printed."""
    for end, text in NUMBERS:
        path = folder / f"{NAME}{end}"
        path.write_text(text)
        try:
            status = main(words_of(command, argument, path.name))
        except SystemExit as end_of_run:
            status = int(end_of_run.code or 0)
        printed = capsys.readouterr()
        # Standard input cannot be formatted in place.
        assert status in (0, 1) or argument == "--stdin-filename", printed.err
        assert not {"\x1b", "\r"} & {*printed.out, *printed.err}
        path.unlink(missing_ok=True)
