"""Coverage reports as CSV, with a row for each operator."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable
from typing import Final

from opwright.coverage.records import CoverageReport, OperatorRecord

__all__ = ["COLUMNS", "render"]

COLUMNS: Final = (
    "name",
    "status",
    "key",
    "kernel",
    "through",
    "lacks",
    "backward",
    "backward_lacks",
    "meta",
    "keys",
    "view",
    "line",
    "traps",
    "schema",
)


def render(report: CoverageReport, records: Iterable[OperatorRecord]) -> str:
    """The operators as CSV after RFC 4180; a field with several names has spaces between them."""
    del report
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\r\n")
    writer.writerow(COLUMNS)
    for record in records:
        writer.writerow(_row(record))
    return text.getvalue()


def _row(record: OperatorRecord) -> tuple[str | int, ...]:
    reach, backward = record.reach, record.backward
    return (
        record.name,
        record.status.name,
        reach.key,
        reach.kernel,
        reach.through,
        reach.lacks,
        backward.status.name,
        " ".join(backward.lacks),
        record.meta.name,
        " ".join(record.keys),
        "yes" if record.function.is_view else "no",
        "" if record.span is None else record.span.line,
        " ".join(dict.fromkeys(trap.kind.name for trap in record.traps)),
        str(record.function),
    )
