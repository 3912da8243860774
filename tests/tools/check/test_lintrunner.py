"""The adapter for lintrunner in a PyTorch tree: one message for a finding, and nothing is checked again."""

from __future__ import annotations

import json
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import pytest

from tests.conformance.inputs import ROOT, source_tree

NATIVE = "aten/src/ATen/native/native_functions.yaml"
FORMULAS = "tools/autograd/derivatives.yaml"
TEMPLATE = "aten/src/ATen/templates/RegisterSchema.cpp"


@pytest.fixture
def adapter() -> ModuleType:
    """The adapter, as a module."""
    spec = spec_from_file_location("opwright_linter", ROOT / "packaging/lintrunner/opwright_linter.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A tree of the installed PyTorch, as links to files elsewhere, as the working folder."""
    top = tmp_path / "tree"
    for path in source_tree().rglob("*"):
        if path.is_file() and path.suffix != ".pyc":
            link = top / path.relative_to(source_tree())
            link.parent.mkdir(parents=True, exist_ok=True)
            link.symlink_to(path)
    monkeypatch.chdir(top)
    monkeypatch.setenv("OPWRIGHT_CACHE_DIR", str(tmp_path / "cache"))
    return top


def edit(path: Path, old: str, new: str) -> None:
    """Replace the link to a file by a file with other text."""
    text = path.read_text("utf-8")
    assert old in text
    path.unlink()
    path.write_text(text.replace(old, new, 1), "utf-8")


def messages(
    adapter: ModuleType, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, *names: str
) -> list[tuple[str, int, str, str]]:
    """What the adapter prints for files: the path, line, code and severity of each message."""
    monkeypatch.setattr(sys, "argv", ["opwright_linter.py", *names])
    adapter.main()
    found = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert all(set(message) >= {"path", "line", "char", "code", "severity", "name", "description"} for message in found)
    return [(message["path"], message["line"], message["name"], message["severity"]) for message in found]


@pytest.mark.thorough
def test_findings_are_kept(
    adapter: ModuleType, tree: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Entries and formulas: a finding in the named files is printed, again without a check, until a file changes."""
    assert messages(adapter, capsys, monkeypatch, NATIVE, FORMULAS) == []
    edit(tree / FORMULAS, "self.sym_sizes()", "self.sym_sizess()")
    (found,) = messages(adapter, capsys, monkeypatch, NATIVE, FORMULAS)
    assert (found[0], *found[2:]) == (FORMULAS, "W0903", "warning")
    monkeypatch.setattr(adapter, "run", None)
    assert messages(adapter, capsys, monkeypatch, FORMULAS) == [found]
    assert messages(adapter, capsys, monkeypatch, NATIVE) == []
    with pytest.raises(TypeError):
        messages(adapter, capsys, monkeypatch, TEMPLATE)


@pytest.mark.thorough
def test_templates(
    adapter: ModuleType, tree: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A slot that nothing fills is found at its place in the template; the tree gets no file."""
    before = sorted(tree.rglob("*"))
    edit(tree / TEMPLATE, "${aten_schema_registrations}", "${aten_schema_registration}")
    line = (tree / TEMPLATE).read_text("utf-8").partition("${aten_schema_registration}")[0].count("\n") + 1
    assert messages(adapter, capsys, monkeypatch, TEMPLATE) == [(TEMPLATE, line, "E0601", "error")]
    assert sorted(tree.rglob("*")) == before
