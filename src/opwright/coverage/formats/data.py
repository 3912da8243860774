"""A coverage report as plain data, which JSON, CSV and the page have in common.

The names of fields and values are stable: a new release of Opwright may add some, and changes `FORMAT` if it removes or
changes one.
"""

from __future__ import annotations

import enum
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final, TypeAlias

from opwright.coverage.records import (
    BackwardStatus,
    CoverageReport,
    MetaSupport,
    OperatorRecord,
    OperatorStatus,
    Trap,
    TrapKind,
)

__all__ = ["FORMAT", "Data", "counts", "operator_data", "report_data", "summary"]

Data: TypeAlias = "bool | int | str | Sequence[Data] | dict[str, Data] | None"

#: The version of the form of the data.
FORMAT: Final = 1


def counts(members: type[enum.Enum], values: Iterable[enum.Enum]) -> dict[str, int]:
    """How often each member of an enumeration occurs, in its order, those that do not occur included."""
    counter = Counter(values)
    return {member.name: counter[member] for member in members}


def summary(report: CoverageReport) -> dict[str, dict[str, int]]:
    """How many operators have each status, backward, meta support, and kind of trap."""
    records = report.records
    return {
        "status": counts(OperatorStatus, [record.status for record in records]),
        "backward": counts(BackwardStatus, [record.backward.status for record in records]),
        "meta": counts(MetaSupport, [record.meta for record in records]),
        "traps": counts(TrapKind, [trap.kind for trap in report.traps]),
    }


def report_data(report: CoverageReport, records: Iterable[OperatorRecord]) -> dict[str, Data]:
    """The report as data, with these of its operators."""
    return {
        "format": FORMAT,
        "backend": {
            "name": report.backend,
            "key": report.key,
            "file": report.path,
            "fallback": report.fallback,
            "fallback_views": report.fallback_views,
        },
        "torch": report.release,
        "summary": {"operators": len(report.records), **_as_data(summary(report))},
        "needed": [
            {"name": needed.record.name, "status": needed.record.status.name, "breaks": needed.breaks}
            for needed in report.needed
        ],
        "operators": [operator_data(record) for record in records],
    }


def _as_data(counted: dict[str, dict[str, int]]) -> dict[str, Data]:
    return {group: dict(numbers) for group, numbers in counted.items()}


def operator_data(record: OperatorRecord) -> dict[str, Data]:
    """An operator as data."""
    reach, backward, function = record.reach, record.backward, record.function
    return {
        "name": record.name,
        "schema": str(function),
        "status": record.status.name,
        "key": reach.key,
        "kernel": reach.kernel,
        "through": reach.through,
        "lacks": reach.lacks,
        "backward": {
            "status": backward.status.name,
            "calls": list(backward.calls),
            "helpers": list(backward.helpers),
            "lacks": list(backward.lacks),
        },
        "meta": record.meta.name,
        "keys": list(record.keys),
        "view": function.is_view,
        "tags": sorted(function.tags),
        "line": None if record.span is None else record.span.line,
        "traps": [_trap_data(trap) for trap in record.traps],
    }


def _trap_data(trap: Trap) -> dict[str, Data]:
    return {"kind": trap.kind.name, "message": trap.message, "help": trap.help}
