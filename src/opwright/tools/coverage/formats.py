"""Formats of coverage reports: JSON, CSV, text for terminals, and a page that needs no other file.

The names of fields and values are stable: a new release of Opwright may add some, and changes `FORMAT` if it removes or
changes one.
"""

from __future__ import annotations

import csv
import enum
import html
import io
import json
import os
import textwrap
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, TypeAlias

from opwright.backends.operator_records import (
    BackwardStatus,
    CoverageReport,
    MetaSupport,
    NeededOperator,
    OperatorRecord,
    OperatorStatus,
    TrapKind,
)

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
    """Report as data, with these of its operators."""
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
        "summary": {
            "operators": len(report.records),
            **{name: {**counted} for name, counted in summary(report).items()},
        },
        "needed": [
            {"name": needed.record.name, "status": needed.record.status.name, "breaks": needed.breaks}
            for needed in report.needed
        ],
        "operators": [operator_data(record) for record in records],
    }


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
        "traps": [{"kind": trap.kind.name, "message": trap.message, "help": trap.help} for trap in record.traps],
    }


def render_json(report: CoverageReport, records: Iterable[OperatorRecord]) -> str:
    """Report as JSON, with a line for each operator."""
    data = report_data(report, records)
    operators = data.pop("operators")
    assert isinstance(operators, list)
    head = json.dumps(data, indent=2).removesuffix("\n}")
    lines = ",\n".join([f"    {json.dumps(operator)}" for operator in operators])
    return f'{head},\n  "operators": [\n{lines}\n  ]\n}}\n' if operators else f'{head},\n  "operators": []\n}}\n'


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


def render_csv(report: CoverageReport, records: Iterable[OperatorRecord]) -> str:
    """Operators as CSV after RFC 4180; a field with several names has spaces between them."""
    del report
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\r\n")
    writer.writerow(COLUMNS)
    for record in records:
        writer.writerow(_cells(record))
    return text.getvalue()


def _flat_data(record: OperatorRecord) -> dict[str, Data]:
    """An operator as data, in which the fields of `backward` stand beside the others."""
    backward = record.backward
    return {
        **operator_data(record),
        "backward": backward.status.name,
        "calls": backward.calls,
        "helpers": backward.helpers,
        "backward_lacks": backward.lacks,
    }


def _cells(record: OperatorRecord) -> Iterator[str | int]:
    data = {**_flat_data(record), "traps": list(dict.fromkeys([trap.kind.name for trap in record.traps]))}
    for column in COLUMNS:
        match data[column]:
            case bool(value):
                yield "yes" if value else "no"
            case str(value) | int(value):
                yield value
            case None:
                yield ""
            case names:
                assert not isinstance(names, dict)
                yield " ".join(map(str, names))


WIDTH: Final = 80
_COUNTS: Final = 7


def render_summary(report: CoverageReport) -> str:
    """Counts of a report, and what breaks because operators that every device needs have no kernel."""
    counted = summary(report)
    views = "which copies views" if report.fallback_views == "copy" else "which refuses views"
    fallback = "no fallback" if report.fallback == "none" else f"CPU fallback, {views}"
    lines = [
        f"{report.backend} on PyTorch {report.release}: {fallback}",
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


def render_text(report: CoverageReport, records: Iterable[OperatorRecord]) -> str:
    """A list of operators, each with its status, its backward, and its traps."""
    listed = list(records)
    lines = [line for record in listed for line in _operator_lines(record)]
    noun = "operator" if len(listed) == 1 else "operators"
    lines.append(f"{len(listed):,} of {len(report.records):,} {noun}")
    return "\n".join(lines) + "\n"


def _operator_lines(record: OperatorRecord) -> Iterator[str]:
    name = record.name
    backward = record.backward.status
    is_told = backward not in (BackwardStatus.none, BackwardStatus.missing)
    facts = f"{record.status.name:<14}{f'backward {backward.name}' if is_told else ''}"
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


_PAGE: Final = os.path.join(os.path.dirname(os.path.abspath(__file__)), "page.html")

#: What the page shows of an operator, in the order of the values in the page.
_FIELDS: Final = (
    "name", "schema", "status", "key", "kernel", "through", "lacks", "backward", "calls", "helpers", "backward_lacks",
    "meta", "keys", "tags", "line", "traps",
)  # fmt: skip


def render_page(report: CoverageReport, records: Iterable[OperatorRecord]) -> str:
    """Page."""
    data = report_data(report, ())
    groups = {"status": OperatorStatus, "backward": BackwardStatus, "meta": MetaSupport, "traps": TrapKind}
    data["meanings"] = {
        name: {member.name: str(member.value) for member in members} for name, members in groups.items()
    }
    data["fields"] = _FIELDS
    data["operators"] = [_values(record) for record in records]
    # A `<` would end the script that holds the data if a name contained `</script>`.
    text = json.dumps(data, separators=(",", ":")).replace("<", "\\u003c")
    with open(_PAGE, encoding="utf-8") as stream:
        page = stream.read()
    title = html.escape(f"{report.backend} on PyTorch {report.release}")
    return page.replace("{{title}}", title).replace("{{data}}", text)


def _values(record: OperatorRecord) -> list[Data]:
    traps = [(trap.kind.name, trap.message, trap.help) for trap in record.traps]
    data = {**_flat_data(record), "schema": str(record.function.schema), "traps": traps}
    return [data[field] for field in _FIELDS]
