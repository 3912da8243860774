"""Coverage reports for terminals: a summary, or a list of operators."""

from __future__ import annotations

import enum
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from opwright.coverage.formats.data import summary
from opwright.coverage.records import (
    BackwardStatus,
    CoverageReport,
    MetaSupport,
    NeededOperator,
    OperatorRecord,
    OperatorStatus,
    TrapKind,
)

__all__ = ["render", "render_summary"]

WIDTH: Final = 80
_COUNTS: Final = 7


def render_summary(report: CoverageReport) -> str:
    """The counts of a report, and what breaks because operators that every device needs have no kernel."""
    counted = summary(report)
    lines = [
        f"{report.backend} on PyTorch {report.release}: {_fallback_text(report)}",
        "",
        *_table("Operators, by what runs", OperatorStatus, counted["status"]),
        *_table("Backward", BackwardStatus, counted["backward"]),
        *_table("Shapes while tracing", MetaSupport, counted["meta"]),
        *_needed_lines(report.needed),
        *_table("Traps", TrapKind, counted["traps"]),
        "`--only missing`, `--backward lacks`, `--meta missing`, `--trap any` and names",
        "such as `conv*` list operators; `--format html --out FILE` writes a page.",
    ]
    return "\n".join(lines) + "\n"


def _fallback_text(report: CoverageReport) -> str:
    if report.fallback == "none":
        return "no fallback"
    return f"CPU fallback, {'which copies views' if report.fallback_views == 'copy' else 'which refuses views'}"


def _table(title: str, members: type[enum.Enum], counted: Mapping[str, int]) -> Iterator[str]:
    """A title with the total, then a row for each member that occurs, with its meaning."""
    yield f"{title}: {sum(counted.values()):,}"
    width = max(len(name) for name in counted)
    for member in members:
        if counted[member.name]:
            yield from _wrap(f"  {member.name:<{width}}{counted[member.name]:>{_COUNTS},}  ", str(member.value))
    yield ""


def _wrap(lead: str, text: str) -> list[str]:
    """A text after a lead, continued below the text."""
    return textwrap.wrap(
        text, WIDTH, initial_indent=lead, subsequent_indent=" " * len(lead), break_long_words=False
    ) or [lead.rstrip()]


def _needed_lines(needed: Sequence[NeededOperator]) -> Iterator[str]:
    broken = [operator for operator in needed if operator.breaks]
    yield f"Operators that every device needs: {len(needed)}, of which {len(broken)} do not work"
    for operator in broken:
        yield f"  {operator.record.name}"
        yield from _wrap("    ", operator.breaks)
    yield ""


def render(report: CoverageReport, records: Iterable[OperatorRecord]) -> str:
    """A list of operators, each with its status, its backward, and its traps."""
    listed = list(records)
    lines = [line for record in listed for line in _operator_lines(record)]
    noun = "operator" if len(listed) == 1 else "operators"
    lines.append(f"{len(listed):,} of {len(report.records):,} {noun}")
    return "\n".join(lines) + "\n"


def _operator_lines(record: OperatorRecord) -> Iterator[str]:
    name = record.name
    facts = f"{record.status.name:<14}{_backward_text(record)}"
    if len(name) > 38:
        yield name
        name = ""
    yield f"{name:<40}{facts}".rstrip()
    notes = []
    if record.reach.lacks:
        notes.append(f"calls {record.reach.lacks}, which is missing")
    if record.backward.lacks and not record.traps:
        notes.append(f"backward calls {', '.join(record.backward.lacks)}, which is missing")
    notes += [f"{trap.message}; {trap.help}" for trap in record.traps]
    for note in notes:
        yield from _wrap("    ", note)


def _backward_text(record: OperatorRecord) -> str:
    status = record.backward.status
    return "" if status in (BackwardStatus.none, BackwardStatus.missing) else f"backward {status.name}"
