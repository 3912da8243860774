"""Renames in library files: every place that names an argument changes, and nothing else."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from opwright.cli.main import main
from opwright.release.inputs import from_installed
from opwright.tools.lsp.project import Project
from opwright.tools.lsp.rename import rename_argument
from opwright.workspace.edits import apply_edits

_LIBRARY = """\
namespace: acme
derivatives: derivatives.yaml
operators:
- func: mix(Tensor self, Tensor other, *, float weight=0.5) -> Tensor
  doc: Mixes self and other by weight.
  outputs: broadcast(self, self)   # self twice
  dispatch:
    CPU, CUDA: mix
  samples:
  - torch.randn(3), torch.randn(3), weight=0.25
  - torch.randn(3), other=torch.ones(3)

- func: mix.out(Tensor self, Tensor other, *, float weight=0.5, Tensor(a!) out) -> Tensor(a!)
  dispatch:
    CPU: mix_out

- func: crop(Tensor self, int height, int width=2) -> (Tensor cropped, Tensor rest)
  outputs:
    cropped: {size: [height, width], dtype: self.dtype}
    rest: [self.size(0) - height, width]
  dispatch:
    CPU: crop
  samples: torch.randn(4, 4), 3

- func: twice_(Tensor(a!) self) -> Tensor(a!)
  dispatch:
    CPU: twice_
"""
_DERIVATIVES = """\
- name: mix(Tensor self, Tensor other, *, float weight=0.5) -> Tensor
  self: grad * (1 - weight)
  other: grad * weight
  result: self_t * (1 - weight) + other_t * weight
"""


class _Library:
    def __init__(self, folder: Path) -> None:
        (folder / "acme.yaml").write_text(_LIBRARY)
        (folder / "derivatives.yaml").write_text(_DERIVATIVES)
        self.project = Project(from_installed)
        self.library, self.derivatives = folder / "acme.yaml", folder / "derivatives.yaml"

    def rename(self, context: str, word: str, new: str, *, in_derivatives: bool = False) -> tuple[str, str]:
        """The texts of both files after a rename."""
        path = self.derivatives if in_derivatives else self.library
        file = self.project.read(str(path))
        assert file is not None
        offset = file.text.index(context) + context.index(word) + 1
        edits = rename_argument(self.project, file, offset, new)
        texts = []
        for own in (self.library, self.derivatives):
            here = [edit for edit in edits if edit.span.file.path == str(own)]
            texts.append(apply_edits(own.read_text(), here))
        return texts[0], texts[1]


@pytest.fixture
def library(tmp_path: Path) -> _Library:
    """A library with derivatives."""
    return _Library(tmp_path)


def _without_prose(text: str, old: str, new: str) -> str:
    lines = text.split("\n")
    return "\n".join(
        [
            line if "doc:" in line else line.replace("# self", "# <>").replace(old, new).replace("<>", "self")
            for line in lines
        ]
    )


@pytest.mark.parametrize("in_derivatives", [False, True])
def test_self_of_a_function(library: _Library, in_derivatives: bool) -> None:
    """`self` changes in the group, in outputs, in formulas and keys; remarks and documentation stay."""
    schema = "mix(Tensor self, Tensor other"
    text, formulas = library.rename(schema, "self", "source", in_derivatives=in_derivatives)
    first, rest = _LIBRARY.split("- func: crop")
    assert text == _without_prose(first, "self", "source") + "- func: crop" + rest
    assert formulas == _DERIVATIVES.replace("self", "source")


def test_keyword_argument(library: _Library) -> None:
    """An argument that samples pass by name changes there, too."""
    text, formulas = library.rename("float weight=0.5", "weight", "share")
    assert text == _without_prose(_LIBRARY, "weight", "share")
    assert formulas == _DERIVATIVES.replace("weight", "share")


def test_sizes(library: _Library) -> None:
    """An argument in the sizes of declared outputs changes in each of them."""
    text, _ = library.rename("int height", "height", "rows")
    assert text == _LIBRARY.replace("height", "rows")


def test_requirements(tmp_path: Path) -> None:
    """An argument is renamed in each field that says what the operator requires of it."""
    entry = """\
- func: f(Tensor x, Tensor weight, float eps=1e-6) -> Tensor
  dispatch: {CPU: f}
  dims: {x: "*b d", weight: d, return: "*b {weight.size(0)}"}
  dtypes: {x: floating, weight: x}
  layout: {weight: contiguous}
  requires: weight.dim() == 1 and eps > 0
  linear: weight
"""
    reference = "  reference: acme.weight:f\n"
    path = tmp_path / "acme.yaml"
    path.write_text(f"namespace: acme\noperators:\n{entry}{reference}")
    project = Project(from_installed)
    file = project.read(str(path))
    assert file is not None
    edits = rename_argument(project, file, file.text.index("weight"), "scale")
    renamed = entry.replace("weight", "scale")
    assert apply_edits(file.text, edits) == f"namespace: acme\noperators:\n{renamed}{reference}"


def test_operator_that_saves_results(tmp_path: Path) -> None:
    """The entry and its derivative have the new name, although two operators are made of the entry."""
    library = _Library(tmp_path)
    entry = "segment(Tensor self, Tensor index, SymInt size) -> (Tensor mean, Tensor count)"
    texts = (
        f"namespace: acme\nderivatives: derivatives.yaml\noperators:\n- func: {entry}\n  dispatch: {{CPU: segment}}\n"
        "  outputs: {mean: '[size]', count: '[size]'}\n  saved: count\n",
        f"- name: {entry}\n  self: (grad / count).index_select(0, index)\n  index: non_differentiable\n",
    )
    library.library.write_text(texts[0])
    library.derivatives.write_text(texts[1])
    renamed = library.rename("Tensor index", "index", "item")
    assert renamed == tuple(re.sub(r"\bindex\b", "item", text) for text in texts)
    checked = {"acme.yaml": renamed[0], "derivatives.yaml": renamed[1]}
    for name, text in checked.items():
        (tmp_path / name).write_text(text)
    assert main(["check", *[str(tmp_path / name) for name in checked]]) == 0


@pytest.mark.parametrize(
    ("context", "word", "new", "reason"),
    [
        ("int height", "height", "width", "has an argument `width` already"),
        ("int height", "height", "rest", "has a result `rest` already"),
        ("int height", "height", "class", "a word of Python"),
        ("int height", "height", "None", "a word of Python"),
        ("int height", "height", "template", "a word of C"),
        ("int height", "height", "x" * 5_000, "at most 100 characters"),
        ("int height", "height", "2x", "not a name"),
        ("int height", "height", "h\u00f6he", "not a name"),
        ("int height", "height", "", "not a name"),
        ("float weight", "weight", "grad", "a meaning of its own"),
        ("Tensor other", "other", "text", "choose one that keeps the order"),
        ("Tensor(a!) self", "self", "x", "methods"),
        ("Tensor(a!) out)", "out)", "x", "a meaning of its own"),
        ("crop(", "crop", "x", "no argument"),
    ],
)
def test_refused_names(library: _Library, context: str, word: str, new: str, reason: str) -> None:
    """What no argument can be called, and what cannot be changed, is refused with the reason."""
    with pytest.raises(ValueError, match=reason):
        library.rename(context, word, new)


def test_overloads_in_another_file(library: _Library) -> None:
    """The overloads of a group may be in another file, which the rename would leave behind."""
    other = "namespace: acme\noperators:\n- func: crop.other(Tensor self) -> Tensor\n  dispatch: {CPU: other}\n"
    (library.library.parent / "more.yaml").write_text(other)
    with pytest.raises(ValueError, match=r"`more.yaml` has overloads of `crop`"):
        library.rename("int height", "height", "rows")
    assert library.rename("float weight", "weight", "share")
