"""Coverage reports as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable

from opwright.coverage.formats.data import report_data
from opwright.coverage.records import CoverageReport, OperatorRecord

__all__ = ["render"]


def render(report: CoverageReport, records: Iterable[OperatorRecord]) -> str:
    """The report as JSON, with a line for each operator."""
    data = report_data(report, records)
    operators = data.pop("operators")
    assert isinstance(operators, list)
    head = json.dumps(data, indent=2).removesuffix("\n}")
    lines = ",\n".join([f"    {json.dumps(operator)}" for operator in operators])
    return f'{head},\n  "operators": [\n{lines}\n  ]\n}}\n' if operators else f'{head},\n  "operators": []\n}}\n'
