"""Counts what the tests of `test_opinfo.py` compare."""

from __future__ import annotations

from collections import defaultdict

import pytest


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print how many operators, in which forms, gave the results of the CPU."""
    counts: defaultdict[str, list[int]] = defaultdict(list)
    for report in terminalreporter.getreports("passed"):
        for form, calls in report.user_properties:
            counts[form].append(calls)
    for form, calls in sorted(counts.items()):
        terminalreporter.write_line(f"{len(calls)} operators {form}: {sum(calls)} calls with the results of the CPU")
