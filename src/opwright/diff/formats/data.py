"""A comparison as plain data, for JSON.

The names of fields and values are stable: a new release of Opwright may add some, and changes `FORMAT` if it removes or
changes one.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from opwright.diff.backend import BackendTask
from opwright.diff.records import Audience, ChangeKind, Comparison, OperatorChange
from opwright.dump.data import JsonValue

__all__ = ["FORMAT", "comparison_data"]

#: The version of the form of the data.
FORMAT: Final = 1


def comparison_data(
    comparison: Comparison, changes: Iterable[OperatorChange], tasks: Iterable[BackendTask] | None
) -> dict[str, JsonValue]:
    """The comparison as data, with these of its changes, and with what a backend has to do if one was compared."""
    listed = list(changes)
    data: dict[str, JsonValue] = {
        "format": FORMAT,
        "old": comparison.old,
        "new": comparison.new,
        "summary": {
            **{kind.name: sum(change.kind is kind for change in listed) for kind in ChangeKind},
            "breaks": {audience.name: sum(audience in change.breaks for change in listed) for audience in Audience},
        },
        "changes": [_change_data(change) for change in listed],
    }
    if tasks is not None:
        data["backend"] = [
            {
                "kind": task.kind.name,
                "operator": task.operator,
                "message": task.message,
                "help": task.help,
                "line": task.line,
            }
            for task in tasks
        ]
    return data


def _change_data(change: OperatorChange) -> JsonValue:
    return {
        "name": change.name,
        "kind": change.kind.name,
        "private": change.is_private,
        "old": None if change.old is None else str(change.old),
        "new": None if change.new is None else str(change.new),
        "breaks": [audience.name for audience in change.breaks],
        "reasons": [
            {"text": reason.text, "breaks": [audience.name for audience in Audience if audience in reason.audiences]}
            for reason in change.reasons
        ],
        "similar": [*change.similar],
    }
