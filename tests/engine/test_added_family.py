"""A family that is added by a row, and by nothing else, is there in all that programs do with families."""

from __future__ import annotations

import ast
import json
from collections.abc import Callable

import pytest

from opwright.cli.main import main
from opwright.emit import registry
from opwright.emit.family import Check, Family
from tests.engine import notes
from tests.engine.project import Project, files_of, state_files, times_of
from tests.test_layering import modules

ROW = Family(
    notes.FAMILY,
    "notes about operators",
    emitters=("tests.engine.notes",),
    folders={notes.FAMILY: "share/notes"},
    checks=(Check("tests.engine.notes:check_names"),),
    programs={"gen": "notes"},
)


@pytest.fixture
def generate(project: Project, monkeypatch: pytest.MonkeyPatch) -> Callable[..., int]:
    """Runs of `opwright generate --only notes` in this process, where the table has the row."""
    monkeypatch.setitem(registry.FAMILIES, notes.FAMILY, ROW)
    monkeypatch.setattr("gc.disable", lambda: None)
    words = ["generate", "--source-path", str(project.inputs), "--release", "2.13", "--out", str(project.out)]
    notes.rendered.clear()
    return lambda *more: main([*words, "--only", notes.FAMILY, "--jobs", "1", *map(str, more)])


def test_help_and_choices(generate: Callable[..., int], capsys: pytest.CaptureFixture[str]) -> None:
    """The help of `--only` tells of the family, and what is meant by a name that is nearly its own."""
    with pytest.raises(SystemExit):
        main(["generate", "--help"])
    assert "`notes`, notes about" in " ".join(capsys.readouterr().out.split())
    with pytest.raises(SystemExit):
        main(["generate", "--out", "x", "--only", "nots"])
    assert "did you mean `notes`?" in capsys.readouterr().err


def test_dry_run(generate: Callable[..., int], project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    """The files are listed in the folder that the row names, and no fragment is made."""
    assert generate("--dry-run") == 0
    assert notes.rendered == ["checked"]
    listed = capsys.readouterr().out.splitlines()
    assert str(project.out / "share/notes/mean_of.txt") in listed
    assert len(listed) == 9
    assert not project.out.exists()


def test_runs_one_after_the_other(generate: Callable[..., int], project: Project) -> None:
    """The family has a manifest: a second run does nothing, and one after an edit makes the fragment that changed."""
    assert generate() == 0
    assert len(files_of(project.out)) == 9
    [manifest] = state_files(project, ".state")
    assert "mean_of.txt" in manifest.read_text()
    before = times_of(project.out)
    notes.rendered.clear()
    assert generate() == 0
    assert notes.rendered == []
    project.edit("eps=1e-6", "eps=1e-5")
    assert generate() == 0
    assert notes.rendered == ["checked", "mean_of"]
    after = times_of(project.out)
    assert [path for path in after if after[path] != before[path]] == ["share/notes/mean_of.txt"]
    project.edit("- func: mean_of(Tensor[] tensors, float eps=1e-5) -> Tensor\n", "")
    assert generate() == 0
    assert "share/notes/mean_of.txt" not in files_of(project.out)


def test_where(generate: Callable[..., int], project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    """`opwright where` names the emitter and the entry of a line."""
    assert generate("--provenance", project.out / "provenance.json") == 0
    assert json.loads((project.out / "provenance.json").read_text())["files"]
    assert main(["where", f"{project.out}/share/notes/mean_of.txt:1"]) == 0
    shown = capsys.readouterr().out
    assert "emitter `notes`" in shown
    assert "from `mean_of`" in shown


def test_a_drop_in_program_makes_it(generate: Callable[..., int]) -> None:
    """A program that the row names takes the family's name for its flag, and makes it without a choice too."""
    del generate
    assert registry.program_families("gen")[notes.FAMILY] == "notes"
    assert notes.FAMILY in registry.chosen_families(None)


#: The modules that list kinds of projects, options, dialects or candidates, which have names of families.
KINDS_OF_PROJECTS = (
    "opwright.cli.new",
    "opwright.libraries.extension.project",
    "opwright.cli.describing",
    "opwright.plugins.extra_key_schemas",
    "opwright.libraries.families",
    "opwright.libraries.judge.candidates",
)


@pytest.mark.thorough
@pytest.mark.xdist_group("tests")  # with others that read the syntax trees of all modules
def test_no_other_module_lists_families() -> None:
    """Outside of the table no collection holds names of several families, and no condition asks for one by name."""
    wrong = []
    for name, tree in modules().items():
        for node in ast.walk(tree) if name not in (registry.__name__, *KINDS_OF_PROJECTS) else ():
            words = _constants(node)
            if len(words & registry.FAMILIES.keys()) >= (1 if isinstance(node, ast.Compare) else 2):
                wrong.append(f"{name}:{getattr(node, 'lineno', 0)} {sorted(map(str, words))}")
    assert wrong == []


def _constants(node: object) -> set[object]:
    """The constants that a collection holds, or that a comparison asks for."""
    parts: list[ast.expr | None] = []
    if isinstance(node, (ast.List, ast.Tuple, ast.Set)):
        parts = [*node.elts]
    elif isinstance(node, ast.Dict):
        parts = [*node.keys, *node.values]
    elif isinstance(node, ast.Compare):
        parts = [node.left, *node.comparators]
    return {part.value for part in parts if isinstance(part, ast.Constant)}
