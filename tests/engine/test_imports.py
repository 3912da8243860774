"""Imports stand at the top of a module, except those without which some process starts faster."""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

import pytest

from opwright.cli.main import COMMANDS
from tests.engine.project import WholeProject
from tests.test_layering import absolute, modules

ROOT: Final = Path(__file__).resolve().parents[2]

#: Runs a module as a program, and writes the modules that it has imported in the end.
RECORD: Final = """
import atexit, os, runpy, sys
process, leave, (program, record, *sys.argv[1:]) = os.getpid(), os._exit, sys.argv[1:]
def note():
    if os.getpid() == process:
        open(record, "w").write("\\n".join({*sys.modules, program}))
def note_and_leave(status):
    note()
    leave(status)
atexit.register(note)
os._exit = note_and_leave
runpy.run_module(program, run_name="__main__", alter_sys=True)
"""

LIBRARY: Final = ("opwright", "generate", "--library", "library/acme.yaml", "--out", "library_out")
BACKEND: Final = ("opwright", "generate", "--backend", "backend/acme.yaml", "--out", "backend_out")
LISTS: Final = ("opwright.torchgen.executorch.gen_all_oplist", "--output-dir", "lists", "--model-file-list-path")


class Processes:
    """Processes that users wait for, each with the modules that it had imported in the end."""

    def __init__(self, project: WholeProject) -> None:
        self.project = project
        self.folder = project.inputs.parents[3]
        self.imported: list[set[str]] = []
        shutil.copytree(ROOT / "examples" / "library", self.folder / "library")
        shutil.copytree(ROOT / "examples" / "backend", self.folder / "backend")

    def run(self, program: str, *words: str) -> None:
        """One process; what it answers is for other tests."""
        record = self.folder / f"{program}-{'-'.join(words[:2]).replace('/', '.')}-{len(self.imported)}.modules"
        command = [sys.executable, "-c", RECORD, program, str(record), *words]
        environment = {**os.environ, "OPWRIGHT_CACHE_DIR": str(self.folder / "cache")}
        subprocess.run(command, cwd=self.folder, env=environment, capture_output=True, check=False)
        self.imported.append(set(record.read_text().split("\n")))

    def run_all(self) -> None:
        """First runs, runs with nothing to do, runs after an edit and with a mistake, questions, and all help."""
        generate = ("opwright", *self.project.words())
        for words in (LIBRARY, BACKEND, generate):
            self.run(*words)
            self.run(*words)
        self.project.edit("eps=1e-6", "eps=1e-5")
        self.run(*generate)
        self._edit("library/acme.yaml", "CPU: gamma_out", "CPU: gamma_into")
        self._edit("library/acme.yaml", "float exponent", "floot exponent")
        simple = "operators:\n  aten::add.out:\n    include_all_overloads: false\n"
        (self.folder / "simple.yaml").write_text(simple)
        for _ in range(2):
            self.run(*LISTS, "simple.yaml")
        questions = [
            ("check", "backend/acme.yaml"),
            ("explain", "add.Tensor"),
            ("explain", "E0310"),
            ("schema", "library"),
        ]
        helps = [("opwright", command, "--help") for command in COMMANDS] + [(name, "--help") for name in programs()]
        bare = [
            ("opwright",),
            ("opwright", "--help"),
            ("opwright", "completion", "bash"),
            ("opwright.tools.lsp.features",),
        ]
        with ThreadPoolExecutor(2) as pool:
            list(
                pool.map(
                    lambda words: self.run(*words), [*[("opwright", *words) for words in questions], *helps, *bare]
                )
            )

    def _edit(self, path: str, old: str, new: str) -> None:
        text = (self.folder / path).read_text()
        (self.folder / path).write_text(text.replace(old, new))
        self.run(*LIBRARY)

    def spare(self, importer: str, names: set[str]) -> bool:
        """Whether some process that has the importer starts without one of these modules."""
        return any(importer in imported and not names <= imported for imported in self.imported)


@pytest.fixture(scope="module")
def processes(tmp_path_factory: pytest.TempPathFactory, reference_inputs: Path) -> Processes:
    """All of them, after they have run."""
    processes = Processes(WholeProject(tmp_path_factory.mktemp("imports"), reference_inputs))
    processes.run_all()
    return processes


def programs() -> Iterator[str]:
    """The modules that are run like those of PyTorch's generator."""
    for name, tree in modules().items():
        conditions = [ast.dump(node.test) for node in tree.body if isinstance(node, ast.If)]
        is_program = any("'__main__'" in condition for condition in conditions)
        if name.startswith("opwright.torchgen.") and not name.endswith("__main__") and is_program:
            yield name


def inner_imports(name: str) -> Iterator[tuple[int, set[str]]]:
    """Line and modules of each import in the functions of a module."""
    for function in ast.walk(modules()[name]):
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            for node in ast.walk(function):
                if isinstance(node, ast.Import):
                    yield node.lineno, {alias.name for alias in node.names}
                elif isinstance(node, ast.ImportFrom):
                    base = absolute(name, node)
                    longer = {f"{base}.{alias.name}" for alias in node.names}
                    yield node.lineno, {path for path in longer if path in modules()} or {base}


@pytest.mark.thorough
def test_an_import_in_a_function_spares_a_process_its_time(processes: Processes) -> None:
    """Each import in a function is of modules that some process goes without, though it has the module around it.

    Other packages may be missing, and what the standard library imports differs between Pythons.
    """
    idle = [
        f"{name}:{line}: import at the top: {', '.join(sorted(imports))}"
        for name in modules()
        for line, imports in sorted(inner_imports(name))
        if all(path.startswith("opwright.") for path in imports) and not processes.spare(name, imports)
    ]
    assert not idle, "\n".join(idle)


@pytest.mark.thorough
def test_processes_tell_imports_apart(processes: Processes) -> None:
    """The oracle is not blind: a run with nothing to do has few modules, and a first run many."""
    sizes = [len(imported) for imported in processes.imported]
    first, again = sizes[:2]
    assert again < first / 3
    assert min(sizes) > 20
