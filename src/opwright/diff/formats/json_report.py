"""Comparisons as JSON."""

from __future__ import annotations

from collections.abc import Iterable

from opwright.diff.backend import BackendTask
from opwright.diff.formats.data import comparison_data
from opwright.diff.records import Comparison, OperatorChange
from opwright.dump.document import render_dump

__all__ = ["render"]


def render(comparison: Comparison, changes: Iterable[OperatorChange], tasks: Iterable[BackendTask] | None) -> str:
    """The comparison as JSON, with a line for each change."""
    return render_dump(comparison_data(comparison, changes, tasks))
