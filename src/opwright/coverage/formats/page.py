"""Coverage reports as one page that needs nothing else: no network, no other file."""

from __future__ import annotations

import enum
import html
import json
import os
from collections.abc import Iterable
from typing import Final

from opwright.coverage.formats.data import Data, report_data
from opwright.coverage.records import (
    BackwardStatus,
    CoverageReport,
    MetaSupport,
    OperatorRecord,
    OperatorStatus,
    TrapKind,
)

__all__ = ["render"]

_PAGE: Final = os.path.join(os.path.dirname(os.path.abspath(__file__)), "page.html")

#: What the page shows of an operator, in the order of the values in the page.
_FIELDS: Final = (
    "name", "schema", "status", "key", "kernel", "through", "lacks", "backward", "calls", "helpers", "backward_lacks",
    "meta", "keys", "tags", "line", "traps",
)  # fmt: skip


def render(report: CoverageReport, records: Iterable[OperatorRecord]) -> str:
    """The page."""
    data = report_data(report, ())
    groups = {"status": OperatorStatus, "backward": BackwardStatus, "meta": MetaSupport, "traps": TrapKind}
    data["meanings"] = {name: _meanings(members) for name, members in groups.items()}
    data["fields"] = _FIELDS
    data["operators"] = [_values(record) for record in records]
    # A `<` would end the script that holds the data if a name contained `</script>`.
    text = json.dumps(data, separators=(",", ":")).replace("<", "\\u003c")
    with open(_PAGE, encoding="utf-8") as stream:
        page = stream.read()
    title = html.escape(f"{report.backend} on PyTorch {report.release}")
    return page.replace("{{title}}", title).replace("{{data}}", text)


def _meanings(members: type[enum.Enum]) -> dict[str, Data]:
    return {member.name: str(member.value) for member in members}


def _values(record: OperatorRecord) -> list[Data]:
    reach, backward, function = record.reach, record.backward, record.function
    return [
        record.name,
        str(function.schema),
        record.status.name,
        reach.key,
        reach.kernel,
        reach.through,
        reach.lacks,
        backward.status.name,
        backward.calls,
        backward.helpers,
        backward.lacks,
        record.meta.name,
        record.keys,
        sorted(function.tags),
        None if record.span is None else record.span.line,
        [(trap.kind.name, trap.message, trap.help) for trap in record.traps],
    ]
