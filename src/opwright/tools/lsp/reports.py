"""The last reports about open files, and the fixes that they have."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

from opwright.source.diagnostic import Edit
from opwright.source.records import NamedTuple, frozen_fields
from opwright.source.span import Span
from opwright.source.text import SourceFile

#: A diagnostic in the form of `opwright check --format json`.
DiagnosticRow: TypeAlias = Mapping[str, Any]


@frozen_fields
class FileReport:
    """The diagnostics of a file, and the text that they are about."""

    file: SourceFile
    rows: list[DiagnosticRow]


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
    for edits, is_certain in ((row["fix"], True), (row["suggestion"], False)):
        if edits:
            changes = tuple([Edit(_span(edit, file), edit["text"]) for edit in edits["edits"]])
            title = f"Fix {row['code']}: {row['message']}" if is_certain else f"Change to `{changes[0].text}`"
            yield EditorFix(title, changes, is_certain)


def _span(place: dict[str, Any], file: SourceFile) -> Span:
    return file.span(place["start"]["offset"], place["end"]["offset"])
