"""Python modules of the working folder are not imported: not by commands, and not by the processes that they start."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from opwright.cli.arguments import Parser
from opwright.cli.main import COMMANDS, _load

BACKEND = "backend: PrivateUse1\ncpp_namespace: acme\nsupported: [abs.out]\n"
#: Names of modules that Opwright, PyTorch and Python itself import: all of the standard library, and more.
POISONED = [*sorted(sys.stdlib_module_names), "numpy", "opwright", "torch", "tree_sitter", "typing_extensions", "yaml"]
#: Command -> a run of it in the folder.
COMMAND_RUNS: dict[str, Sequence[str]] = {
    "generate": ("--library", "l.yaml", "--out", "out"),
    "new": ("library", "fresh_ops", "fresh"),
    "import": ("ops.cpp", "--out", "imported.yaml"),
    "port": ("ops.cpp", "--check"),
    "format": ("l.yaml",),
    "dump": ("--library", "l.yaml"),
    "select": ("selection.yaml", "--out", "selected.yaml"),
    "stubs": ("--library", "l.yaml", "--out", "stubs", "--namespace", "mine"),
    "upgraders": ("--bytecode", "upgraders.json", "--out", "out"),
    "check": ("l.yaml",),
    "accept": ("l.yaml::nothing", "ops.cpp"),
    "coverage": ("--backend", "b.yaml"),
    "conformance": (".",),
    "diff": ("l.yaml", "l.yaml"),
    "explain": ("E0303",),
    "where": ("out/a.h:1",),
    "lsp": ("--check",),
    "plugins": (),
    "releases": ("--offline",),
    "schema": ("backend",),
    "completion": ("bash",),
}
POISON = "import sys\nsys.stderr.write('POISON ' + __name__ + '\\n')\nraise SystemExit(99)\n"
#: Options with which a command does not end.
ENDLESS = ("--watch", "--stdio")
#: A program that runs command lines, and prints their exit statuses.
FORMS = """\
import json, sys
from opwright.cli.main import main
statuses = []
for words in json.loads(sys.argv[1]):
    try:
        statuses.append(main(words))
    except SystemExit as end:
        statuses.append(end.code or 0)
sys.stdout.flush()
print("STATUSES", *statuses)
"""
#: Runs that start a Python each, with the exit status and a text that shows that this Python did its work.
RUNS: list[tuple[Sequence[str], int, str]] = [
    (("upgraders", "--out", "out"), 0, ""),
    (("diff", "--output", "INPUTS", "INPUTS", "--only", "declarations_yaml"), 0, ""),
    (("import", "--module", "no_such_module", "--out", "imported.yaml"), 1, "No module named 'no_such_module'"),
    (("import", "--outputs-from", "no_such_module", "ops.cpp", "--out", "o.yaml"), 1, "named 'no_such_module'"),
    (("coverage", "--backend", "b.yaml", "--runtime", "no_such_module"), 1, "No module named 'no_such_module'"),
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder whose modules would end each program that imports them."""
    for name in POISONED:
        (tmp_path / f"{name}.py").write_text(POISON)
    (tmp_path / "b.yaml").write_text(BACKEND)
    (tmp_path / "l.yaml").write_text("namespace: mine\noperators:\n- func: one(Tensor x) -> Tensor\n")
    (tmp_path / "selection.yaml").write_text("operators: {}\n")
    (tmp_path / "ops.cpp").write_text('TORCH_LIBRARY(acme, m) { m.def("one(Tensor x) -> Tensor"); }\n')
    return tmp_path


def run(folder: Path, *command: str) -> tuple[int, str]:
    """The exit status of a command in the folder, and what it prints."""
    environment = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYTHONSAFEPATH")}
    done = subprocess.run(
        command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    return done.returncode, done.stdout + done.stderr


def opwright(*words: str) -> list[str]:
    """The program as it is installed: its own folder is where Python looks first."""
    return [str(Path(sys.executable).with_name("opwright")), *words]


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("words", "status", "text"), RUNS, ids=[words[0] + str(number) for number, (words, *_) in enumerate(RUNS)]
)
def test_processes_import_no_module_of_the_working_folder(
    words: Sequence[str], status: int, text: str, folder: Path, reference_inputs: Path
) -> None:
    """A process that a command starts finds PyTorch, Opwright and the standard library where the command does."""
    own = [str(reference_inputs) if word == "INPUTS" else word for word in words]
    ended, printed = run(folder, *opwright(*own))
    assert "POISON" not in printed
    assert (ended, text in printed) == (status, True), printed


@pytest.mark.thorough
@pytest.mark.parametrize("command", COMMANDS)
def test_commands_import_no_module_of_the_working_folder(command: str, folder: Path) -> None:
    """No command imports a module of the folder in which it runs."""
    ended, printed = run(folder, *opwright(command, *COMMAND_RUNS[command]))
    assert "POISON" not in printed
    assert ended in (0, 1), printed


def all_runs(command: str) -> list[list[str]]:
    """Runs of a command: for each word that the parser lets choose from, and with each option that takes no value."""
    parser = Parser(command, "")
    _load(command).add_arguments(parser)
    run = [*COMMAND_RUNS[command]]
    runs = []
    for place, action in enumerate(action for action in parser._actions if not action.option_strings):
        runs += [[*run[:place], str(choice), *run[place + 1 :]] for choice in action.choices or ()]
    flags = [action.option_strings[-1] for action in parser._actions if action.option_strings and action.nargs == 0]
    runs += [[*run, flag] for flag in flags if flag not in ENDLESS]
    return [[command, *words] for words in [run, *runs]]


@pytest.mark.thorough
@pytest.mark.parametrize("command", COMMANDS)
def test_no_form_of_a_command_imports_a_module_of_the_working_folder(
    command: str, folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Neither do the subcommands and the options of a command, which derive from its parser."""
    program = tmp_path_factory.mktemp("elsewhere") / "program.py"
    program.write_text(FORMS)
    runs = all_runs(command)
    ended, printed = run(folder, sys.executable, str(program), json.dumps(runs))
    assert "POISON" not in printed
    assert ended == 0, printed
    statuses = printed.partition("STATUSES ")[2].partition("\n")[0].split()
    assert set(statuses) <= {"0", "1", "2"}
    assert len(statuses) == len(runs)


def test_the_modules_would_be_imported(folder: Path) -> None:
    """A Python that looks into the working folder imports one of the modules: the test above can fail."""
    ended, printed = run(folder, sys.executable, "-c", "import json")
    assert (ended, printed.partition(" ")[0]) == (99, "POISON")


def test_a_program_gets_its_own_folder(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    """`opwright.torchgen.run` looks for the modules of a program where Python would, not in the working folder."""
    program = tmp_path_factory.mktemp("elsewhere") / "program.py"
    program.write_text("import sys, os\nprint(os.getcwd() in sys.path, sys.path[0] == os.path.dirname(__file__))\n")
    for name in POISONED:
        (folder / f"{name}.py").unlink()
    assert run(folder, sys.executable, "-m", "opwright.torchgen.run", str(program)) == (0, "False True\n")
