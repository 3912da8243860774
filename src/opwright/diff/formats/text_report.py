"""Comparisons for terminals."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from opwright.diff.backend import BackendTask, TaskKind
from opwright.diff.records import Audience, ChangeKind, Comparison, OperatorChange

__all__ = ["audience_names", "render", "shown_reasons"]

WIDTH: Final = 80
_COUNTS: Final = 6


def render(
    comparison: Comparison, changes: Sequence[OperatorChange], tasks: Sequence[BackendTask] | None, *, every: bool
) -> str:
    """The counts, what a backend has to do, then the changes; with `every`, also what breaks nobody."""
    lines = [f"{comparison.old} -> {comparison.new}: {_counts(changes)}", ""]
    lines += _audience_lines(changes)
    if tasks is not None:
        lines += _task_lines(tasks)
    for kind in (ChangeKind.removed, ChangeKind.changed):
        shown = [
            change for change in changes if change.kind is kind and (every or change.breaks or change.schema_changed)
        ]
        if shown:
            lines.append(f"{kind.value.capitalize()}: {len(shown)}")
            for change in shown:
                lines += _change_lines(change, every=every)
            lines.append("")
    added = [change.name for change in changes if change.kind is ChangeKind.added]
    if added:
        lines.append(f"Added: {len(added)}")
        lines += _wrap("  ", ", ".join(added))
    return "\n".join(lines).rstrip("\n") + "\n"


def _counts(changes: Iterable[OperatorChange]) -> str:
    kinds = [change.kind for change in changes]
    schemas = sum(change.schema_changed for change in changes)
    counted = [f"{kinds.count(kind)} {kind.value}" for kind in (ChangeKind.removed, ChangeKind.added)]
    others = kinds.count(ChangeKind.changed) - schemas
    return f"{', '.join(counted)}, {schemas} schemas changed, {others} other differences"


def _audience_lines(changes: Sequence[OperatorChange]) -> Iterator[str]:
    """How many changes break each audience."""
    counts = {audience: sum(audience in change.breaks for change in changes) for audience in Audience}
    if not any(counts.values()):
        yield from ("Nothing breaks.", "")
        return
    yield "Changes that break something, by whom they break"
    width = max(len(audience.name) for audience in Audience)
    for audience, count in counts.items():
        yield f"  {audience.name:<{width}}{count:>{_COUNTS}}  {audience.value}"
    yield ""


def _task_lines(tasks: Sequence[BackendTask]) -> Iterator[str]:
    """What a backend has to do."""
    if not tasks:
        yield from ("The backend has nothing to do.", "")
        return
    for kind in TaskKind:
        chosen = [task for task in tasks if task.kind is kind]
        if chosen:
            yield f"{kind.value}: {len(chosen)}"
            for task in chosen:
                place = f" (line {task.line})" if task.line else ""
                yield f"  {task.operator}{place}"
                yield from _wrap("      ", task.message)
                if task.help:
                    yield from _wrap("      ", f"help: {task.help}")
            yield ""


def _change_lines(change: OperatorChange, *, every: bool) -> Iterator[str]:
    yield f"  {change.name}"
    if change.old is not None and (change.new is None or change.schema_changed):
        yield from _wrap("      - ", str(change.old.schema))
    if change.new is not None and change.schema_changed:
        yield from _wrap("      + ", str(change.new.schema))
    for text in shown_reasons(change, every=every):
        yield from _wrap("      ", text)


def shown_reasons(change: OperatorChange, *, every: bool) -> Iterator[str]:
    """The reasons with the names of those whom they break, and the operators that may replace a removed one."""
    for reason in change.reasons:
        if reason.audiences:
            yield f"{reason.text}: breaks {audience_names(reason.audiences)}"
        elif every:
            yield reason.text
    if change.similar:
        yield f"with the same arguments there is {', '.join(change.similar)}"


def audience_names(audiences: Iterable[Audience]) -> str:
    """The names of audiences, in the order of their table."""
    chosen = frozenset(audiences)
    return ", ".join([audience.name for audience in Audience if audience in chosen])


def _wrap(lead: str, text: str) -> list[str]:
    """The text behind its lead, with the same indentation on further lines."""
    inner = " " * len(lead)
    return textwrap.wrap(text, WIDTH, initial_indent=lead, subsequent_indent=inner, break_on_hyphens=False)
