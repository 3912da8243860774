"""Selected operators that do not exist are reported with the nearest one of their namespace."""

from __future__ import annotations

import pytest

from opwright.dialects.selection import check_selection, load_selection, selection_of_names
from opwright.source.diagnostic import Diagnostics, Severity
from opwright.source.text import SourceFile
from tests.dialects.loading import load_text

ENTRIES = (
    "- func: add.Tensor(Tensor self, Tensor other) -> Tensor\n"
    "- func: t(Tensor self) -> Tensor\n"
    "- func: shed::prune(Tensor self) -> Tensor\n"
)


def reported(*names: str, tolerant: bool = False) -> list[tuple[Severity, str, str]]:
    """What a selection of names gives: severity, message and help."""
    catalog, _ = load_text(ENTRIES)
    sink = Diagnostics()
    check_selection(selection_of_names(names), catalog, sink, tolerant=tolerant)
    return [(diagnostic.severity, diagnostic.message, str(diagnostic.help)) for diagnostic in sink.sorted()]


@pytest.mark.parametrize(
    ("name", "help"),
    [
        ("aten::addd", "did you mean `aten::add`?"),
        ("add", "did you mean `aten::add`?"),
        ("shed::prun", "did you mean `shed::prune`?"),
        ("3", ""),
        ("", ""),
    ],
)
def test_a_name_that_does_not_exist(name: str, help: str) -> None:
    """It is an error, or a warning in the programs that take PyTorch's flags."""
    message = f"there is no operator `{name}`"
    assert reported(name) == [(Severity.ERROR, message, help)]
    assert reported(name, tolerant=True) == [(Severity.WARNING, message, help)]


def test_other_namespaces_are_noted_together() -> None:
    """What no loaded file declares is implemented elsewhere."""
    assert [(report[0], report[1].partition(" that ")[0]) for report in reported("prim::a", "prim::b", "aten::t")] == [
        (Severity.NOTE, "2 selected operators are of namespaces")
    ]
    assert reported("prim::a")[0][1].startswith("one selected operator is of a namespace ")


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("[]\n", (1, 1)),
        ("operators: 3\n", (1, 12)),
        ("operators:\n  aten::t: 5\n", (2, 12)),
        ("operators:\n  aten::t: {is_root: true}\n", (2, 13)),
        ("operator: {}\n", (1, 1)),
        ("include_all_operators: maybe\n", (1, 24)),
        ("custom_classes: {a: b}\n", (1, 17)),
    ],
)
def test_a_selection_of_the_wrong_shape(text: str, place: tuple[int, int]) -> None:
    """Each fault stands at its place in the file."""
    sink = Diagnostics()
    load_selection(SourceFile("selection.yaml", text), sink)
    assert [
        (diagnostic.span.line, diagnostic.span.column) for diagnostic in sink.sorted() if diagnostic.span is not None
    ] == [place]


def test_a_file_of_another_dialect_is_recognised() -> None:
    """A file that is not a selection is reported with the dialect that it looks like."""
    sink = Diagnostics()
    load_selection(SourceFile("kept.yaml", "- func: twice(Tensor self) -> Tensor\n"), sink)
    assert [(diagnostic.code, diagnostic.help) for diagnostic in sink] == [
        ("E0701", "the file looks like `native_functions.yaml`")
    ]


def test_a_selection_without_fields_selects_nothing() -> None:
    """Neither operators nor what a build has besides them."""
    selection = load_selection(SourceFile("selection.yaml", "operators: {}\n"), Diagnostics())
    assert (selection.everything, selection.everything_else) == (False, False)
