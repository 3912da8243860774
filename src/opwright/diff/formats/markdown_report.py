"""Comparisons as Markdown, for pull requests."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from opwright.diff.backend import BackendTask, TaskKind
from opwright.diff.formats.text_report import audience_names, shown_reasons
from opwright.diff.records import Audience, ChangeKind, Comparison, OperatorChange

__all__ = ["folded_lines", "render"]


def render(
    comparison: Comparison, changes: Sequence[OperatorChange], tasks: Sequence[BackendTask] | None, *, every: bool
) -> str:
    """A heading with the counts, what a backend has to do, a table of what breaks, and a folded list of the rest."""
    lines = [f"### Operators: {comparison.old} → {comparison.new}", ""]
    counts = [f"{sum(change.kind is kind for change in changes)} {kind.value}" for kind in ChangeKind]
    broken = [f"{sum(audience in change.breaks for change in changes)} {audience.name}" for audience in Audience]
    lines += [f"{', '.join(counts)}. Breaking: {', '.join(broken)}.", ""]
    if tasks is not None:
        lines += _task_lines(tasks)
    breaking = [change for change in changes if change.breaks]
    if breaking:
        lines += ["| operator | what | breaks |", "| --- | --- | --- |", *map(_row, breaking), ""]
    changed = [change for change in changes if change.schema_changed]
    if changed:
        lines += [*folded_lines(f"{len(changed)} changed schemas", _schema_lines(changed)), ""]
    added = [f"- `{change.name}`" for change in changes if change.kind is ChangeKind.added]
    if added:
        lines += [*folded_lines(f"{len(added)} added operators", iter(added)), ""]
    if every:
        others = [change for change in changes if not change.breaks and change.kind is ChangeKind.changed]
        rows = [f"- `{change.name}`: {'; '.join(shown_reasons(change, every=True))}" for change in others]
        lines += [*folded_lines(f"{len(rows)} other differences", iter(rows)), ""]
    return "\n".join(lines).rstrip("\n") + "\n"


def _row(change: OperatorChange) -> str:
    reasons = "<br>".join([reason.text for reason in change.reasons if reason.audiences])
    return f"| `{change.name}` | {reasons.replace('|', chr(92) + '|')} | {audience_names(change.breaks)} |"


def _schema_lines(changes: Sequence[OperatorChange]) -> Iterator[str]:
    yield "```diff"
    for change in changes:
        if change.old is not None and change.new is not None:
            yield from (f"- {change.old.schema}", f"+ {change.new.schema}")
    yield "```"


def folded_lines(title: str, lines: Iterator[str]) -> Iterator[str]:
    """Lines that are shown once a reader opens their title."""
    yield from ("<details>", f"<summary>{title}</summary>", "", *lines, "", "</details>")


def _task_lines(tasks: Sequence[BackendTask]) -> Iterator[str]:
    if not tasks:
        yield from ("The backend has nothing to do.", "")
        return
    for kind in TaskKind:
        chosen = [task for task in tasks if task.kind is kind]
        if chosen:
            yield from (f"**{kind.value}**", "")
            yield from [f"- [ ] `{task.operator}`: {task.message}{_help(task)}" for task in chosen]
            yield ""


def _help(task: BackendTask) -> str:
    return f" ({task.help})" if task.help else ""
