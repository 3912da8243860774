"""A new name of an operator reaches every file that names it, and nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

from opwright.source.text import SourceFile
from opwright.tools.lsp.rename import operator_at, rename_operator
from opwright.workspace.edits import apply_edits
from tests.tools.lsp.small_tree import SmallTree

_FORMULAS = """\
- name: scale(Tensor self, Scalar factor) -> Tensor
  self: grad * factor
  result: self_t * factor

- name: shift(Tensor self, int[] by=[]) -> Tensor
  self: at::scale(grad, 2) + self.scale(3) + scaled(scale, grad)
"""


def _at(file: SourceFile, context: str, word: str) -> int:
    return file.text.index(context) + context.index(word) + 1


def _renamed(tree: SmallTree, file: SourceFile, offset: int, new: str) -> dict[str, str]:
    """The texts of the files that a rename changes, by their names."""
    edits = rename_operator(tree.project, file, offset, new)
    files = {edit.span.file.path: edit.span.file for edit in edits}
    return {
        Path(path).name: apply_edits(own.text, [edit for edit in edits if edit.span.file.path == path])
        for path, own in files.items()
    }


def test_entries_and_formulas(tmp_path: Path) -> None:
    """Entries, delegates, derivatives and calls change; other words of formulas, kernels and remarks do not."""
    tree = SmallTree(tmp_path)
    native = tree.open("native_functions.yaml")
    native = tree.open("native_functions.yaml", native.text.replace("# The operators", "# scale and the operators"))
    formulas = tree.open("derivatives.yaml", _FORMULAS)
    texts = _renamed(tree, formulas, _at(formulas, "at::scale(", "scale"), "resize")
    expected = (
        native.text.replace("scale", "resize").replace("# resize", "# scale").replace("CPU: resize", "CPU: scale")
    )
    assert texts == {
        "native_functions.yaml": expected,
        "derivatives.yaml": _FORMULAS.replace("- name: scale(", "- name: resize(")
        .replace("at::scale(", "at::resize(")
        .replace("self.scale(", "self.resize("),
    }


def test_one_overload(tmp_path: Path) -> None:
    """A new name for the overload changes its entry and what names it."""
    tree = SmallTree(tmp_path)
    native = tree.open("native_functions.yaml")
    texts = _renamed(tree, native, _at(native, "- func: scale.out", "scale"), "scale.into")
    assert texts == {"native_functions.yaml": native.text.replace("scale.out", "scale.into")}


def test_what_would_break_is_refused(tmp_path: Path) -> None:
    """A name after which the operators have mistakes is refused, and so is a name in a file with mistakes."""
    tree = SmallTree(tmp_path)
    native = tree.open("native_functions.yaml")
    with pytest.raises(ValueError, match="would have mistakes"):
        rename_operator(tree.project, native, _at(native, "- func: half", "half"), "new_half")
    with pytest.raises(ValueError, match="a word of Python"):
        rename_operator(tree.project, native, _at(native, "- func: half", "half"), "class")
    native = tree.open("native_functions.yaml", native.text.replace("half(Tensor", "half(Tensro"))
    with pytest.raises(ValueError, match="has mistakes"):
        rename_operator(tree.project, native, _at(native, "- func: half", "half"), "quarter")


@pytest.mark.parametrize(
    ("context", "word"), [("Scalar factor", "Scalar"), ("  tags: core", "core"), ("  dispatch:", "dispatch")]
)
def test_other_words_are_no_operators(tmp_path: Path, context: str, word: str) -> None:
    """Types, tags and fields are not renamed."""
    tree = SmallTree(tmp_path)
    native = tree.open("native_functions.yaml")
    assert operator_at(tree.project, native, _at(native, context, word)) is None


def test_libraries(tmp_path: Path) -> None:
    """An operator of a library is renamed in the library and its derivatives, and PyTorch's of the same name is not."""
    tree = SmallTree(tmp_path)
    formulas = "- name: half(Tensor x) -> Tensor\n  x: acme::half(grad)\n"
    entry = "- func: half(Tensor x) -> Tensor\n  dispatch: {CPU: half}\n"
    text = f"namespace: acme\nderivatives: more.yaml\noperators:\n{entry}"
    (tmp_path / "more.yaml").write_text(formulas)
    (tmp_path / "acme.yaml").write_text(text)
    library = tree.open("acme.yaml")
    texts = _renamed(tree, library, _at(library, "func: half(", "half"), "quarter")
    assert texts == {
        "acme.yaml": text.replace("half(Tensor", "quarter(Tensor"),
        "more.yaml": formulas.replace("half", "quarter"),
    }
