"""Counts what the tests of `test_opinfo.py` compare."""

from __future__ import annotations

import pytest


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print how many operators and calls gave the results of the CPU."""
    reports = [report for report in terminalreporter.getreports("passed") if hasattr(report, "user_properties")]
    counts = [value for report in reports for name, value in report.user_properties if name == "calls"]
    if counts:
        terminalreporter.write_line(f"{len(counts)} operators give the results of the CPU, in {sum(counts)} calls")
