"""The examples of plug-ins for wrappers say what they add, and only wrappers with other code are made again."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from opwright.cli.main import main
from tests.engine.project import Project
from tests.plugins.fault_cases import installed_below

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "plugins"

BACKEND = """
backend: PrivateUse1
display_name: Acme
cpp_namespace: acme
supported:
- twice
- shifted
"""


def generate(project: Project, backend: str, *plugins: str | Path) -> str:
    """The source of a backend with plug-ins."""
    folder = project.folder
    (folder / "acme.yaml").write_text(backend, encoding="utf-8")
    words = ["generate", "--source-path", Project.place, "--release", "2.13", "--out", "out", "--jobs", "1", "--stats"]
    named = [word for plugin in plugins for word in ("--plugin", str(plugin))]
    with installed_below(folder):
        assert main([*words, "--backend", "acme.yaml", "--only", "backend", *named]) == 0
    return (project.out / "RegisterAcme.cpp").read_text(encoding="utf-8")


def example(name: str) -> Path:
    """The file of an example."""
    return EXAMPLES / name / f"{name}.py"


NAMES = ("op_hooks", "tensor_checks", "cpu_on_failure", "register_macro", "kernel_formats", "deprecation")


@pytest.mark.parametrize("name", NAMES)
def test_examples_are_short(name: str) -> None:
    """An example has at most 50 lines, imports `opwright.plugin` alone, and assigns to no attribute."""
    text = example(name).read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 50
    tree = ast.parse(text)
    modules = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert modules <= {"__future__", "opwright.plugin"}
    assert not [node for node in ast.walk(tree) if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)]


def test_hooks_of_one_operator(project: Project) -> None:
    """Values of extra keys decide for each operator; a file without them has the defaults."""
    text = generate(project, BACKEND.replace("- shifted", "- shifted: {profiled: false}"), example("op_hooks"))
    assert text.count("acme::ProfilerGuard profiler_guard(") == 1
    assert 'acme::OpHooks::before("twice", self);' in text
    assert 'acme::OpHooks::before("shifted", ' in text
    assert (project.out / "include" / "acme" / "op_hooks.h").exists()
    assert "acme/op_hooks.h" not in generate(project, BACKEND)


def test_a_deprecated_operator(project: Project) -> None:
    """Only the entry with the key warns."""
    text = generate(project, BACKEND.replace("- twice", "- twice: {deprecated: {use: other}}"), example("deprecation"))
    assert text.count("TORCH_WARN_ONCE") == 1
    assert '"`aten::twice` is deprecated on this device; use `other`"' in text


HOOK = """
from opwright.plugin import Plugin, WrapperHook

CODE = {"twice": "acme::see_twice();", "shifted": "acme::see_shifted();"}

plugin = Plugin("acme", api=1, wrapper_hooks=[WrapperHook("before", lambda wrapper: CODE[wrapper.operator])])
"""


def made_and_reused(project: Project, capsys: pytest.CaptureFixture[str], plugin: str) -> tuple[int, int]:
    """How many wrappers a run makes, and how many it takes from the run before, with a text of the plug-in."""
    path = project.folder / "acme.py"
    path.write_text(plugin, encoding="utf-8")
    capsys.readouterr()
    generate(project, BACKEND, path)
    lines = [line.split() for line in capsys.readouterr().out.splitlines() if " register_external_acme_source " in line]
    return (int(lines[0][4]), int(lines[0][5])) if lines else (0, 0)


def test_an_edited_plug_in_makes_only_its_wrappers_again(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    """A run after an edit makes the wrappers whose code the plug-in changed, and none for another comment."""
    assert made_and_reused(project, capsys, HOOK) == (2, 0)
    edited = HOOK.replace("see_twice", "watch_twice")
    assert made_and_reused(project, capsys, edited) == (1, 1)
    source = (project.out / "RegisterAcme.cpp").read_text(encoding="utf-8")
    assert "acme::watch_twice();" in source
    assert "acme::see_shifted();" in source
    before = (project.out / "RegisterAcme.cpp").stat().st_mtime_ns
    assert made_and_reused(project, capsys, f"# A comment.\n{edited}")[0] == 0
    assert (project.out / "RegisterAcme.cpp").stat().st_mtime_ns == before
