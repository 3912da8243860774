"""Which edits are of few entries: a run after any other one loads all operators."""

from __future__ import annotations

import pytest

from opwright.dialects.table import NATIVE_FUNCTIONS
from opwright.incremental.changes import MOST_CHANGED, ComparedFile, find_edit
from opwright.source.items import split_items
from opwright.source.text import SourceFile


def compared(before: str, now: str) -> list[ComparedFile]:
    """One file as it was and as it is."""
    files = SourceFile("ops.yaml", before), SourceFile("ops.yaml", now)
    return [ComparedFile(NATIVE_FUNCTIONS.name, *files, split_items(before), split_items(now))]


def entries(count: int, *, edited: int = 0) -> str:
    """Entries of so many operators, the first of which are edited."""
    return "".join(
        f"- func: f{number}x(Tensor self) -> Tensor\n{'  tags: core' if number < edited else ''}\n"
        for number in range(count)
    )


@pytest.mark.parametrize("edited", [1, MOST_CHANGED, MOST_CHANGED + 1])
def test_edits_of_many_entries_are_not_local(edited: int) -> None:
    """The entries of an edit are those that changed, unless there are more than it pays for."""
    edit = find_edit(compared(entries(99), entries(99, edited=edited)), ())
    if edited > MOST_CHANGED:
        assert edit is None
    else:
        assert edit is not None
        assert len(edit[1][NATIVE_FUNCTIONS.name].items) == edited
        assert len(edit[0][NATIVE_FUNCTIONS.name].items) == edited


def test_an_entry_of_another_operator_is_not_an_edit_in_place() -> None:
    """Neither is one whose operator cannot be told."""
    text = entries(3)
    assert find_edit(compared(text, text.replace("f1x", "g1x")), ()) is None
    assert find_edit(compared(text, text.replace("func: f1x", "? f1x")), ()) is None


def test_dependencies_of_reads_are_loaded_in_any_case() -> None:
    """With the entries that changed."""
    edit = find_edit(compared(entries(9), entries(9, edited=1)), ["f5x"])
    assert edit is not None
    assert [text.split("(")[0] for _, text in edit[1][NATIVE_FUNCTIONS.name].items] == ["func: f0x", "func: f5x"]
