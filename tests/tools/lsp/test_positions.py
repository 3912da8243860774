"""What is known at a position of a file, which may be half written."""

from __future__ import annotations

from pathlib import Path

import pytest

from opwright.release.inputs import from_installed
from opwright.source.span import Span
from opwright.source.text import SourceFile
from opwright.tools.lsp import operators
from opwright.tools.lsp.completion import completions_at
from opwright.tools.lsp.hover import hover_at
from opwright.tools.lsp.navigation import definitions_at, derivatives_at, references_at
from opwright.tools.lsp.project import Project
from opwright.tools.lsp.rename import rename_argument
from opwright.workspace.edits import apply_edits
from tests.tools.lsp.small_tree import SmallTree

_BACKEND = "backend: PrivateUse1\ncpp_namespace: acme\nsupported:\n- scale.out: {structured: true}\n- shift.out\n"


def _at(file: SourceFile, context: str, word: str) -> int:
    return file.text.index(context) + context.index(word) + 1


def _lines(places: list[Span]) -> list[str]:
    return [f"{Path(place.file.path).name}:{place.line}" for place in places]


@pytest.mark.parametrize(
    ("context", "word", "text"),
    [
        ("structured_delegate: scale.out", "scale.out", "at::Tensor & at::scale_out("),
        ("  structured_delegate:", "structured_delegate", "whose structured kernel serves this overload"),
        ("tags: core", "core", "An operator that others are built from."),
        ("    CPU: scale_out", "CPU", "dispatch key **CPU**"),
        ("- func: scale(", "scale", "derivative: derivatives.yaml, line 1"),
        ("autogen: shift.out", "shift.out", "made from the entry in line 12"),
    ],
)
def test_hover(tmp_path: Path, context: str, word: str, text: str) -> None:
    """A word is explained by what it means where it stands."""
    tree = SmallTree(tmp_path)
    file = tree.open("native_functions.yaml")
    answer = hover_at(tree.project, file, _at(file, context, word))
    assert answer is not None
    assert text in answer.markdown
    assert answer.place.text == word


@pytest.mark.parametrize("word", ["relu", "acme"])
def test_hover_loads_operators_once(word: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The load for the dispatch table has the operator, and a word that names no operator loads nothing."""
    project = Project(from_installed)
    file = project.put("acme.yaml", "backend: PrivateUse1\ncpp_namespace: acme\nsupported:\n- relu\n")
    monkeypatch.setattr(operators, "load_in_scope", lambda *_: pytest.fail("operators are loaded again"))
    answer = hover_at(project, file, _at(file, word, word))
    assert (answer is not None) == (word == "relu")
    assert answer is None or "relu_sparse_csr" in answer.markdown


def test_hover_of_an_operator_whose_neighbour_has_faults(tmp_path: Path) -> None:
    """An operator is shown with the kernels of its entry if there is no dispatch table because of another file."""
    tree = SmallTree(tmp_path)
    tree.open("derivatives.yaml", "- name: scale(Tensor self) -> Tensor\n  self: grad\n")
    file = tree.open("native_functions.yaml")
    answer = hover_at(tree.project, file, _at(file, "- func: scale.out", "scale.out"))
    assert answer is not None
    assert "  CPU: scale_out\n" in answer.markdown


def test_definitions(tmp_path: Path) -> None:
    """Names lead to entries, generated names to the entry that generates them, an entry to its delegate."""
    tree = SmallTree(tmp_path)
    native, backend = tree.open("native_functions.yaml"), tree.open("acme.yaml", _BACKEND)
    derivatives = tree.open("derivatives.yaml")

    def definitions(file: SourceFile, context: str, word: str) -> list[str]:
        return _lines(definitions_at(tree.project, file, _at(file, context, word)))

    assert definitions(backend, "- scale.out", "scale") == ["native_functions.yaml:2"]
    assert definitions(backend, "- shift.out", "shift") == ["native_functions.yaml:12"]
    assert definitions(derivatives, "- name: scale(", "scale") == ["native_functions.yaml:8"]
    assert definitions(native, "- func: scale(", "scale") == ["native_functions.yaml:2"]
    assert definitions(native, "- func: shift(", "shift") == ["derivatives.yaml:5"]
    place = _at(native, "- func: shift(", "shift")
    assert _lines(derivatives_at(tree.project, native, place)) == ["derivatives.yaml:5"]


def test_references(tmp_path: Path) -> None:
    """An operator is found in entries, fields and backend files, and in no longer name."""
    tree = SmallTree(tmp_path)
    native = tree.open("native_functions.yaml")
    tree.open("acme.yaml", _BACKEND)
    place = _at(native, "- func: scale.out(", "scale.out")
    assert sorted(_lines(references_at(tree.project, native, place))) == [
        "acme.yaml:4",
        "native_functions.yaml:2",
        "native_functions.yaml:9",
    ]


@pytest.mark.parametrize(
    ("text", "offered", "missing"),
    [
        ("backend: PrivateUse1\nsupp", "supported", "structured"),
        ("backend: PrivateUse1\nsupported:\n- sca", "scale.out", "supported"),
        ("backend: PrivateUse1\nsupported:\n- scale.out: {str", "structured", "supported"),
        ("backend: PrivateUse1\nsupported:\n- scale.out: {structured: ", "true", "structured"),
        ("backend: Priv", "PrivateUse1", "supported"),
    ],
)
def test_completion_in_backend_files(tmp_path: Path, text: str, offered: str, missing: str) -> None:
    """What may stand at a position is offered, and nothing else."""
    tree = SmallTree(tmp_path)
    file = tree.open("acme.yaml", text)
    texts = {answer.text for answer in completions_at(tree.project, file, len(file.text))}
    assert offered in texts
    assert missing not in texts


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("- func: new(Ten", "Tensor"),
        ("- func: new() -> ()\n  disp", "dispatch"),
        ("- func: new() -> ()\n  dispatch:\n    CP", "CPU"),
        ("- func: new() -> ()\n  tags: [cor", "core"),
        ("- func: new() -> ()\n  device_check: No", "NoCheck"),
        ("- func: new() -> ()\n  structured_delegate: sc", "scale.out"),
    ],
)
def test_completion_in_entries(tmp_path: Path, line: str, offered: str) -> None:
    """Fields, dispatch keys, tags, types and operators are offered in an entry that is being written."""
    tree = SmallTree(tmp_path)
    file = tree.open("native_functions.yaml")
    file = tree.open("native_functions.yaml", f"{file.text}\n{line}")
    assert offered in {answer.text for answer in completions_at(tree.project, file, len(file.text))}


def test_derivatives_are_completed_with_schemas(tmp_path: Path) -> None:
    """The name of a derivative is a whole schema."""
    tree = SmallTree(tmp_path)
    file = tree.open("derivatives.yaml", "- name: ha")
    answers = {answer.text for answer in completions_at(tree.project, file, len(file.text))}
    assert "half(Tensor self) -> Tensor" in answers
    assert "shift.out" not in answers


def test_renamed_arguments(tmp_path: Path) -> None:
    """An argument changes in the whole group, in the fields that name it, and in formulas; a result stays."""
    tree = SmallTree(tmp_path)
    native, derivatives = tree.open("native_functions.yaml"), tree.open("derivatives.yaml")

    def renamed(context: str, word: str, new: str) -> dict[str, str]:
        edits = rename_argument(tree.project, native, _at(native, context, word), new)
        return {
            file.path: apply_edits(file.text, [edit for edit in edits if edit.span.file.path == file.path])
            for file in (native, derivatives)
        }

    texts = renamed("Scalar factor", "factor", "by")
    assert texts[native.path] == native.text.replace("factor", "by")
    assert texts[derivatives.path] == derivatives.text.replace("factor", "by")
    texts = renamed("int[] by", "by", "distance")
    assert texts[native.path] == native.text.replace("int[] by", "int[] distance").replace("[by]", "[distance]")
    assert texts[derivatives.path] == derivatives.text.replace("int[] by", "int[] distance").replace(
        "grad, by", "grad, distance"
    )
    with pytest.raises(ValueError, match="methods"):
        renamed("scale(Tensor self", "self", "x")
    with pytest.raises(ValueError, match="already"):
        renamed("Scalar factor", "factor", "self")
    with pytest.raises(ValueError, match="not a name"):
        renamed("Scalar factor", "factor", "2x")


def test_arguments_are_no_references(tmp_path: Path) -> None:
    """An argument with the name of an operator is no reference to it."""
    tree = SmallTree(tmp_path)
    native = tree.open("native_functions.yaml")
    native = tree.open("native_functions.yaml", native.text.replace("Scalar factor", "Scalar half"))
    places = references_at(tree.project, native, _at(native, "- func: half(", "half"))
    assert _lines(places) == ["native_functions.yaml:18"]
