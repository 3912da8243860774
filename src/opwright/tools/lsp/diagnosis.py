"""Diagnostics of open files: at once for the entries that changed, and by a process of their own for everything.

A check of all PyTorch's files takes most of a second, too long between two keystrokes. So an edit of
`native_functions.yaml` is answered with the diagnostics of the operations whose entries it changed; those of the
others are the last that the whole check found, at their new places. Where there is nothing to compare with, the whole
check alone answers.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from opwright.dialects.table import NATIVE_FUNCTIONS
from opwright.source.diagnostic import Diagnostic, Diagnostics, Fault, FaultsFound
from opwright.source.items import split_items
from opwright.source.span import Span
from opwright.source.text import SourceFile
from opwright.source.yaml import load_yaml
from opwright.tools.check.formats import render_json
from opwright.tools.lsp.operators import load_in_scope
from opwright.tools.lsp.project import DiagnosticRow, FileReport, Project, kind_of

if TYPE_CHECKING:
    from opwright.source.items import ItemText


def diagnostic_rows(diagnostics: tuple[Diagnostic, ...]) -> list[DiagnosticRow]:
    """Diagnostics as data."""
    return cast("list[DiagnosticRow]", json.loads(render_json(diagnostics))["diagnostics"])


def quick_report(project: Project, file: SourceFile, last: FileReport) -> FileReport | None:
    """The diagnostics of a file after an edit, given the last report about it; None if only a whole check tells."""
    if kind_of(file) is not NATIVE_FUNCTIONS:
        return None
    items, old_items = split_items(file.text), split_items(last.file.text)
    if not items or not old_items:
        return None
    old_texts = {text for _, text in old_items}
    changed = [item for item in items if item[1] not in old_texts]
    rows = diagnostic_rows(tuple(_diagnostics_of(project, file, changed)))
    return FileReport(file, [*_kept_rows(last, file, old_items, items), *rows])


def _diagnostics_of(project: Project, file: SourceFile, changed: Sequence[ItemText]) -> Iterator[Diagnostic]:
    """The diagnostics of the operations of some items; where one is no YAML by itself, only what is wrong with it."""
    faults = [fault for fault in (_fault_of(file, item) for item in changed) if fault is not None]
    if faults:
        yield from faults
        return
    inputs = project.inputs_of(file)
    if inputs is None or not changed:
        return
    sink = Diagnostics(keeps_all_remarks=True)
    try:
        load_in_scope(file, inputs, [text.partition("(")[0] for _, text in changed], sink)
    except (Fault, FaultsFound) as raised:
        sink.take(raised)
    yield from sink.sorted()


def _fault_of(file: SourceFile, item: ItemText) -> Diagnostic | None:
    """What is wrong with the YAML of an item, at its place in the file."""
    start, text = item
    first = start - len("- ")
    try:
        load_yaml(SourceFile(file.path, f"- {text}"))
    except Fault as fault:
        labels = tuple(
            [
                label._replace(span=Span(file, label.span.start + first, label.span.end + first))
                for label in fault.diagnostic.labels
            ]
        )
        return fault.diagnostic._replace(labels=labels)
    return None


def _kept_rows(
    last: FileReport, file: SourceFile, old_items: Sequence[ItemText], items: Sequence[ItemText]
) -> Iterator[DiagnosticRow]:
    """The rows of the last report about items that have not changed, at their new places."""
    starts = {text: start for start, text in reversed(items)}
    for row in last.rows:
        place = row["place"]
        if place is None or place["path"] != file.path:
            yield row
            continue
        offset = place["start"]["offset"]
        for start, text in old_items:
            if start <= offset <= start + len(text) and text in starts:
                yield _shift_row(row, file, starts[text] - start)


def _shift_row(row: DiagnosticRow, file: SourceFile, distance: int) -> DiagnosticRow:
    def shift(place: Mapping[str, Any]) -> Mapping[str, Any]:
        if place["path"] != file.path:
            return place
        points = {}
        for name in ("start", "end"):
            offset = place[name]["offset"] + distance
            line, column = file.line_and_column(offset)
            points[name] = {"line": line, "column": column, "offset": offset}
        return {**place, **points}

    labels = [{**label, "place": shift(label["place"])} for label in row["labels"]]
    fixes = {
        name: row[name] and {"edits": [{**edit, **shift(edit)} for edit in row[name]["edits"]]}
        for name in ("fix", "suggestion")
    }
    return {**row, "place": shift(row["place"]), "labels": labels, **fixes}
