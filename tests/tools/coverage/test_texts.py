"""Reports on a few operators of each status, as whole texts."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path

import pytest

from opwright.backends.operator_records import CoverageReport, OperatorStatus
from opwright.tools.coverage import formats
from tests.text_files import write_texts
from tests.tools.coverage.reports import report_of

FOLDER = Path(__file__).with_name("texts")
ENTRIES = "add.out tanh.out sub_.Tensor linear relu_ empty.memory_format"
HEAD = "use_out_as_primary: true\nautograd:\n- tanh\n"
OPERATORS = (
    *("add.Tensor", "add.out", "tanh", "tanh.out", "sub.Tensor", "sub_.Tensor", "linear", "relu", "relu_", "view"),
    *("empty.memory_format", "as_strided", "reshape", "bincount", "_to_dense", "native_dropout", "cummax", "t"),
)


@cache
def small(fallback: str) -> CoverageReport:
    """The report of a backend on a few operators."""
    report = report_of(ENTRIES, HEAD, fallback=fallback)
    records = tuple(record for record in report.records if record.name in OPERATORS)
    needed = tuple(needed for needed in report.needed if needed.record.name in OPERATORS)
    return report._replace(records=records, needed=needed)


def texts() -> dict[str, str]:
    """The reports in each form, by the names of files."""
    forms: dict[str, str] = {}
    for fallback in ("none", "cpu"):
        report = small(fallback)
        forms[f"summary-{fallback}.txt"] = formats.render_summary(report)
        forms[f"list-{fallback}.txt"] = formats.render_text(report, report.records)
        forms[f"table-{fallback}.csv"] = formats.render_csv(report, report.records).replace("\r\n", "\n")
    forms["report-none.json"] = formats.render_json(small("none"), small("none").records)
    page = formats.render_page(small("none"), small("none").records)
    data = re.search(r"^.*\"meanings\".*$", page, re.MULTILINE)
    assert data is not None
    forms["page.txt"] = f"{re.findall('<title>.*</title>', page)}\n{data[0]}\n".replace("],[", "],\n[")
    return forms


def update() -> None:
    """Write the files."""
    write_texts(FOLDER, texts())


@pytest.mark.parametrize("name", sorted(path.name for path in FOLDER.iterdir()))
def test_reports_are_those_of_the_files(name: str) -> None:
    """Each form shows what its file shows; `make cases` writes the files."""
    assert texts()[name] == (FOLDER / name).read_text(encoding="utf-8")


def test_the_files_show_most_statuses() -> None:
    """A status that no operator of the files has is one of those of other backends."""
    shown = {record.status for fallback in ("none", "cpu") for record in small(fallback).records}
    others = {"structured", "stub", "inherited", "manual", "by_functional", "by_out"}
    assert {status.name for status in set(OperatorStatus) - shown} == others
    assert json.loads(texts()["report-none.json"])["summary"]["operators"] == len(small("none").records)


def test_long_names_have_lines_of_their_own() -> None:
    """The status is in a column, behind names of at most 38 characters."""
    report = report_of(ENTRIES, HEAD)
    by_length = {len(record.name): record for record in report.records if not record.traps and not record.reach.lacks}
    for length, lines in ((37, 1), (38, 1), (39, 2), (40, 2)):
        record = by_length[length]
        text = formats.render_text(report, [record]).splitlines()[:lines]
        assert text[0].startswith(record.name)
        assert text[-1][40:].startswith(record.status.name)
