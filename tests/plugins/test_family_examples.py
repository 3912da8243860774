"""The examples of plug-ins with families make their files, and stay short."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import opwright
from opwright.cli.main import main
from opwright.plugins.use import ensure_active
from tests.engine.project import Project, files_of
from tests.plugins.fault_cases import installed_below

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "plugins"
#: What plug-ins may import of Opwright, besides the package itself.
PUBLIC = frozenset(["opwright.plugin", *[f"opwright.{name}" for name in vars(opwright)["__all__"]]])


def generate(name: str, project: Project, *more: str) -> dict[str, str]:
    """The files of the family of an example, by path."""
    path = EXAMPLES / name / f"{name}.py"
    where = ["--source-path", str(project.inputs), "--release", "2.13", "--out", str(project.out), "--jobs", "1"]
    with installed_below(project.folder):
        assert main(["generate", *where, "--plugin", str(path), "--only", name, *more]) == 0
        ensure_active(())
    return {path: data.decode() for path, data in files_of(project.out).items()}


def test_operator_list(project: Project) -> None:
    """The list has a line for each entry, and none for the overloads that are made without one."""
    files = generate("operator_list", project)
    lines = files["lists/operators.txt"].splitlines()
    assert list(files) == ["lists/operators.txt"]
    assert lines[0] == "aten::twice(Tensor self) -> Tensor"
    assert len(lines) == project.yaml.read_text().count("- func: ")


def test_kernel_table(project: Project) -> None:
    """There is a page for each key with kernels, from the template of the plug-in."""
    files = generate("kernel_table", project)
    assert "kernels/CPU.md" in files
    assert files["kernels/CPU.md"].splitlines()[0] == "# Kernels for CPU"
    assert f"has {files['kernels/CPU.md'].count('aten::')} operators" in files["kernels/CPU.md"]
    assert "| `aten::shifted` | `shifted_cpu` |" in files["kernels/CPU.md"]


def test_an_edited_operator_changes_its_pages(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    """A run after an edit makes the pages of the keys whose kernels changed, and no others."""
    pages = generate("kernel_table", project)
    project.edit("CPU: shifted_cpu", "CPU: moved_cpu")
    capsys.readouterr()
    after = generate("kernel_table", project, "--stats")
    assert [path for path in pages if after[path] != pages[path]] == ["kernels/CPU.md"]
    [row] = [line.split() for line in capsys.readouterr().out.splitlines() if line.startswith("kernel_table ")]
    assert int(row[2]) + int(row[3]) == len(pages)
    # Those of the other overloads of the operator too.
    assert int(row[2]) == 2


@pytest.mark.parametrize("name", ["operator_list", "kernel_table"])
def test_examples_are_short(name: str) -> None:
    """An example has at most 50 lines."""
    assert len((EXAMPLES / name / f"{name}.py").read_text(encoding="utf-8").splitlines()) <= 50


MODULES = sorted([path.relative_to(EXAMPLES).as_posix() for path in EXAMPLES.rglob("*.py")])


@pytest.mark.parametrize("module", MODULES)
def test_examples_need_the_public_api_alone(module: str) -> None:
    """No example imports anything of Opwright but `opwright` and `opwright.plugin`, or changes what it imports."""
    assert faults_of((EXAMPLES / module).read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    "line",
    [
        "from opwright.emit.emitter import Job",
        "from opwright import emit",
        "import opwright.emit.registry as registry",
        "import opwright.plugin\nopwright.plugin.Job = None",
        "del Job.read",
        "setattr(Job, 'read', None)",
        "import_module('opwright.emit')",
    ],
)
def test_faults_of_examples_are_found(line: str) -> None:
    """The test of the examples finds each way around the public API."""
    assert len(faults_of(line)) == 1


def faults_of(text: str) -> list[str]:
    """The lines of a plug-in that import more than the public API, or change an attribute."""
    faults = []
    for node in ast.walk(ast.parse(text)):
        imported: list[str] = []
        if isinstance(node, ast.Import):
            imported = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [f"{node.module}.{alias.name}" for alias in node.names]
            imported = names if node.module == "opwright" else [str(node.module)]
        is_inner = any(name.startswith("opwright.") and name not in PUBLIC for name in imported)
        is_stored = isinstance(node, ast.Attribute) and not isinstance(node.ctx, ast.Load)
        called = ast.unparse(node.func).rpartition(".")[2] if isinstance(node, ast.Call) else ""
        if is_inner or is_stored or called in ("setattr", "delattr", "__import__", "import_module"):
            faults.append(ast.unparse(node))
    return faults
