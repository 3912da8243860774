"""The last reports about open files, and the fixes that they have."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final, TypeAlias

from opwright.source.diagnostic import Edit
from opwright.source.named_tuple import NamedTuple
from opwright.source.span import Span
from opwright.source.text import SourceFile

__all__ = ["DiagnosticRow", "EditorFix", "FileReport", "fixes_at"]

#: A diagnostic in the form of `opwright check --format json`.
DiagnosticRow: TypeAlias = Mapping[str, Any]


class FileReport:
    """The diagnostics of a file, and the text that they are about."""

    __slots__ = ("file", "rows")

    def __init__(self, file: SourceFile, rows: list[DiagnosticRow]) -> None:
        self.file: Final = file
        self.rows: Final = rows


_SUGGESTION: Final = re.compile(r"did you mean `([^`]+)`\?")


class EditorFix(NamedTuple):
    """A change that an editor offers. One that is not certain is a suggestion."""

    title: str
    edits: tuple[Edit, ...]
    is_certain: bool


def fixes_at(report: FileReport, start: int, end: int) -> list[EditorFix]:
    """The fixes for the diagnostics of a file that are between two offsets."""
    fixes: list[EditorFix] = []
    for row in report.rows:
        place = row["place"]
        if place and place["path"] == report.file.path and _touches(place, start, end):
            fixes += _fixes(row, report.file)
    return fixes


def _touches(place: dict[str, Any], start: int, end: int) -> bool:
    return bool(place["start"]["offset"] <= end and start <= place["end"]["offset"])


def _fixes(row: DiagnosticRow, file: SourceFile) -> Iterator[EditorFix]:
    if row["fix"]:
        edits = tuple([Edit(_span(edit, file), edit["text"]) for edit in row["fix"]["edits"]])
        yield EditorFix(f"Fix {row['code']}: {row['message']}", edits, is_certain=True)
        return
    match = _SUGGESTION.search(row["help"] or "")
    span = _span(row["place"], file)
    # A suggestion replaces the name that the diagnostic marks, and nothing larger.
    if match is not None and re.fullmatch(r"[\w.:]+", span.text) and not re.search(r"\s", match[1]):
        yield EditorFix(f"Change to `{match[1]}`", (Edit(span, match[1]),), is_certain=False)


def _span(place: dict[str, Any], file: SourceFile) -> Span:
    return file.span(place["start"]["offset"], place["end"]["offset"])
