"""The table that a run of the benchmarks prints, and its place in the documentation."""

from __future__ import annotations

import os
import platform
import re
from collections.abc import Sequence
from pathlib import Path

from bench.measure import Measured, peak, seconds
from tests.conformance.inputs import ROOT
from tests.conformance.report import table

PAGE = ROOT / "docs" / "benchmarks.md"
FIGURES = re.compile(r"(?s)(<!-- begin figures -->\n).*(<!-- end figures -->)")
COLUMNS = ("job", "reference s", "opwright s", "times faster", "reference MB", "opwright MB", "memory ratio")


def print_figures(results: Sequence[Measured], rounds: int, version: str, *, in_memory: bool) -> str:
    """The results as a Markdown table, with the conditions of the measurement above it."""
    place = "a memory file system" if in_memory else "disk"
    heading = (
        f"PyTorch {version}, Python {platform.python_version()}, {os.cpu_count()} cores.\n"
        f"Medians of {rounds} pairs of whole processes that write to {place};\n"
        "memory is the peak resident size of the largest process."
    )
    return "\n".join([heading, "", *table(COLUMNS, [row(result) for result in results])])


def row(result: Measured) -> tuple[str, ...]:
    """The figures of one scenario."""
    return (
        result.scenario.name,
        f"{seconds(result.reference):.2f}",
        f"{seconds(result.opwright):.2f}",
        f"{result.ratio:.1f}",
        f"{peak(result.reference) / 1e6:.0f}",
        f"{peak(result.opwright) / 1e6:.0f}",
        f"{result.memory_ratio:.2f}",
    )


def write_figures(figures: str, page: Path = PAGE) -> None:
    """Replace the text between the two marks on the page with `figures`."""
    text = page.read_text(encoding="utf-8")
    changed, count = FIGURES.subn(lambda match: f"{match.group(1)}\n{figures}\n\n{match.group(2)}", text)
    if count != 1:
        raise ValueError(f"{page} has no single pair of marks for the figures")
    page.write_text(changed, encoding="utf-8")
