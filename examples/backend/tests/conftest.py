"""Options of the runs of PyTorch's operators and tests, and their reports.

In tests, only kernels can touch the device's memory.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterable, Mapping
from html import escape
from pathlib import Path
from typing import NamedTuple

import pytest
import upstream

os.environ["PROTECT_DEVICE_MEMORY"] = "1"

#: Where the reports are written.
REPORTS = Path("build")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option that chooses types."""
    help = "types whose samples tests/test_opinfo.py compares, such as `float32,int64`, or `all` (default: float32)"
    parser.addoption("--dtypes", default="float32", help=help)
    help = (
        "the folder `test` of a source tree of PyTorch: tests/test_upstream.py runs what it has, and no other tests run"
    )
    parser.addoption("--pytorch-tests", type=Path, metavar="FOLDER", help=help)
    help = "run one of N of PyTorch's tests, the Kth where it is given: of each file, or of FILE (default: all)"
    parser.addoption("--each", action="append", default=[], metavar="[FILE=]N[:K]", help=help)
    help = "how long each of PyTorch's tests may take (default: 60)"
    parser.addoption("--seconds", type=float, default=60, help=help)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave PyTorch's tests and its list of operators alone unless options ask for them: both take long."""
    if collection_path.suffix != ".py":
        return None
    if config.getoption("pytorch_tests") is not None:
        return collection_path.name != "test_upstream.py" or None
    is_asked = "opinfo" in config.getoption("markexpr")
    return (
        collection_path.name == "test_upstream.py"
        or (collection_path.name.startswith("test_opinfo") and not is_asked)
        or None
    )


class Compared(NamedTuple):
    """What `test_opinfo.py` found for an operator, a type and a form: the calls that are equal, or a fault."""

    operator: str
    dtype: str
    form: str
    calls: int
    fault: str


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print how many operators in which forms and types gave the results of the CPU, and write the reports."""
    if terminalreporter.config.getoption("pytorch_tests") is not None:
        terminalreporter.write_sep("=", "tests of PyTorch")
        terminalreporter.write(upstream.report(REPORTS))
    rows = sorted(_compared(terminalreporter))
    if rows:
        terminalreporter.write_sep("=", "operators of PyTorch")
        text = "\n".join([*_totals(rows), *_faults(rows)])
        terminalreporter.write_line(text)
        REPORTS.mkdir(exist_ok=True)
        (REPORTS / "opinfo.txt").write_text(f"{text}\n", encoding="utf-8")
        (REPORTS / "opinfo.html").write_text(_page(rows), encoding="utf-8")
        terminalreporter.write_line(f"{REPORTS / 'opinfo.html'} has a row for each operator.")


def _compared(reporter: pytest.TerminalReporter) -> Iterable[Compared]:
    for outcome in ("passed", "failed", "skipped"):
        for report in reporter.getreports(outcome):
            found = dict(report.user_properties)
            if "operator" in found:
                calls = int(str(found.get("calls", 0)))
                fault = "" if outcome == "passed" else _reason(report)
                yield Compared(str(found["operator"]), str(found["dtype"]), str(found["form"]), calls, fault)


def _reason(report: pytest.TestReport) -> str:
    """Why an operator was not compared, or the first line of what went wrong."""
    if isinstance(report.longrepr, tuple):
        return str(report.longrepr[2]).removeprefix("Skipped: ")
    crash = getattr(report.longrepr, "reprcrash", None)
    return str(getattr(crash, "message", report.longrepr)).splitlines()[0]


def _totals(rows: Iterable[Compared]) -> Iterable[str]:
    groups: defaultdict[tuple[str, str], list[Compared]] = defaultdict(list)
    for row in rows:
        groups[row.form, row.dtype].append(row)
    for (form, dtype), group in sorted(groups.items()):
        equal = [row for row in group if not row.fault and row.calls]
        left = len([row for row in group if not row.fault and not row.calls])
        words = f"{form}, {dtype}: {len(equal)} of {len(group) - left} give the results of the CPU"
        yield f"{words} in {sum([row.calls for row in equal])} calls" + (f"; {left} have no sample" if left else "")


def _faults(rows: Iterable[Compared]) -> Iterable[str]:
    """The operators that were not equal, or not compared, by what is the reason."""
    groups: defaultdict[str, list[str]] = defaultdict(list)
    for row in rows:
        if row.fault:
            groups[row.fault].append(f"{row.operator} ({row.form}, {row.dtype})")
    return [f"{reason}: {', '.join(names)}" for reason, names in sorted(groups.items())]


_STYLE = """
body { font: 14px sans-serif; margin: 2em; } table { border-collapse: collapse; } th { text-align: left; }
td, th { border: 1px solid #8884; padding: 2px 8px; } .equal { background: #8d84; } .fault { background: #d884; }
"""


def _page(rows: Iterable[Compared]) -> str:
    """A table of the operators by forms and types, with the reasons where a cell is red."""
    table: defaultdict[str, dict[str, Compared]] = defaultdict(dict)
    for row in rows:
        table[row.operator][f"{row.form}, {row.dtype}"] = row
    columns = sorted({column for cells in table.values() for column in cells})
    head = "".join([f"<th>{escape(column)}</th>" for column in ("operator", *columns)])
    lines = [f"<tr><td>{escape(name)}</td>{_cells(cells, columns)}</tr>" for name, cells in sorted(table.items())]
    items = "".join([f"<li>{escape(line)}</li>" for line in _totals(rows)])
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>Operators of PyTorch on acme</title>'
        f"<style>{_STYLE}</style><h1>Operators of PyTorch on acme</h1><ul>{items}</ul>"
        f"<table><tr>{head}</tr>{''.join(lines)}</table></html>\n"
    )


def _cells(cells: Mapping[str, Compared], columns: Iterable[str]) -> str:
    return "".join([_cell(cells.get(column)) for column in columns])


def _cell(row: Compared | None) -> str:
    if row is None or not (row.calls or row.fault):
        return "<td></td>"
    return f'<td class="fault">{escape(row.fault)}</td>' if row.fault else f'<td class="equal">{row.calls}</td>'
