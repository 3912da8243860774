"""Formats of comparisons: JSON with its schema, text for terminals, and Markdown for pull requests.

The names of fields and values are stable: a new release of Opwright may add some, and changes `FORMAT` if it removes or
changes one.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from opwright.dialects.field import FLAG, TEXT, choice, list_of_schema, mapping_schema
from opwright.source.terminal import counted
from opwright.tools.diff.backend import BackendTask, TaskKind
from opwright.tools.diff.records import Audience, ChangeKind, Comparison, Level, OperatorChange, greatest, next_version
from opwright.tools.dump.data import JsonValue
from opwright.tools.dump.document import render_dump
from opwright.tools.dump.fields import document_schema, field, optional, reference

#: The version of the form of the data.
FORMAT: Final = 1


class VersionVerdict(NamedTuple):
    """What the changes of a library do to its version, and the versions before and after; empty if they are unknown.

    If not all was compared, the version may be one of a greater level.
    """

    level: Level
    current: str = ""
    next: str = ""
    is_least: bool = False


def verdict_on(changes: Iterable[OperatorChange], comparison: Comparison, current: str) -> VersionVerdict:
    """Verdict on changes of a library that has a version. Raises ValueError for what is no version."""
    level = greatest([change.level for change in changes])
    return VersionVerdict(level, current, next_version(current, level) if current else "", bool(comparison.running))


def _verdict_text(verdict: VersionVerdict, changes: Sequence[OperatorChange]) -> str:
    """The verdict on a line: the level, how many changes have which one, and the next version."""
    counts = [(sum(change.level is level for change in changes), level.name) for level in Level]
    levels = ", ".join([f"{count} {name}" for count, name in counts if count]) or "no changes"
    versions = f"; the version after {verdict.current} is {verdict.next}" if verdict.next else ""
    least = "at least " if verdict.is_least else ""
    return f"Verdict: {least}{verdict.level.name} ({levels}){versions}."


def comparison_data(
    comparison: Comparison,
    changes: Iterable[OperatorChange],
    tasks: Iterable[BackendTask] | None,
    verdict: VersionVerdict | None = None,
) -> dict[str, JsonValue]:
    """Comparison as data, with these of its changes, and with what a backend has to do if one was compared."""
    listed = list(changes)
    data: dict[str, JsonValue] = {
        "format": FORMAT,
        "old": comparison.old,
        "new": comparison.new,
        "summary": {
            **{kind.name: sum(change.kind is kind for change in listed) for kind in ChangeKind},
            "breaks": {audience.name: sum(audience in change.breaks for change in listed) for audience in Audience},
        },
        "changes": [_change_data(change, with_levels=verdict is not None) for change in listed],
    }
    if comparison.running:
        data["running"] = [*comparison.running]
    if verdict is not None:
        data["verdict"] = {"level": verdict.level.name, "current": verdict.current, "next": verdict.next}
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


def _change_data(change: OperatorChange, *, with_levels: bool) -> JsonValue:
    def level(each: Level) -> dict[str, JsonValue]:
        return {"level": each.name} if with_levels else {}

    def since(label: str) -> dict[str, JsonValue]:
        return {"since": label} if label else {}

    return {
        "name": change.name,
        "kind": change.kind.name,
        "private": change.is_private,
        "old": None if change.old is None else str(change.old),
        "new": None if change.new is None else str(change.new),
        "breaks": [audience.name for audience in change.breaks],
        **level(change.level),
        "reasons": [
            {
                "text": reason.text,
                "breaks": [audience.name for audience in Audience if audience in reason.audiences],
                **level(reason.does),
                **since(reason.since),
            }
            for reason in change.reasons
        ],
        "similar": [*change.similar],
        **since(change.since),
    }


def render_json(
    comparison: Comparison,
    changes: Iterable[OperatorChange],
    tasks: Iterable[BackendTask] | None,
    verdict: VersionVerdict | None = None,
) -> str:
    """Comparison as JSON, with a line for each change."""
    return render_dump(comparison_data(comparison, changes, tasks, verdict))


#: The columns of a report.
WIDTH: Final = 80


def render_statistics(comparison: Comparison, changes: Sequence[OperatorChange]) -> str:
    """How many operators changed in which way, and how many of the changes break whom."""
    kinds = [(sum(change.kind is kind for change in changes), kind.value) for kind in ChangeKind]
    broken = [
        (sum(audience in change.breaks for change in changes), f"break {audience.name}: {audience.value}")
        for audience in Audience
    ]
    lines = [f"{count:6,}  {text}" for count, text in [*kinds, *broken] if count]
    head = [f"{comparison.old} -> {comparison.new}", *_not_compared_lines(comparison)]
    return "\n".join([*head, *(lines or ["nothing changed"]), ""])


def render_text(
    comparison: Comparison,
    changes: Sequence[OperatorChange],
    tasks: Sequence[BackendTask] | None,
    *,
    every: bool,
    verdict: VersionVerdict | None = None,
) -> str:
    """Counts, what a backend has to do, then the changes; with `every`, also what breaks nobody. A verdict comes last.

    It says how far it goes, so that all changes are listed that are no patches.
    """
    lines = [f"{comparison.old} -> {comparison.new}: {_counts(changes)}", ""]
    for line in _not_compared_lines(comparison):
        lines += [line, ""]
    lines += _audience_lines(changes, comparison.not_compared)
    if tasks is not None:
        lines += _task_lines(tasks)
    for kind in (ChangeKind.removed, ChangeKind.changed):
        shown = [
            change
            for change in changes
            if change.kind is kind
            and (every or change.breaks or change.schema_changed or (verdict and change.level is not Level.patch))
        ]
        if shown:
            lines.append(f"{kind.value.capitalize()}: {len(shown)}")
            for change in shown:
                lines += _change_lines(change, every=every, with_levels=verdict is not None)
            lines.append("")
    added = [_dated(change.name, change.since) for change in changes if change.kind is ChangeKind.added]
    if added:
        lines.append(f"Added: {len(added)}")
        lines += [*_wrap("  ", ", ".join(added)), ""]
    if verdict is not None:
        lines.append(_verdict_text(verdict, changes))
    return "\n".join(lines).rstrip("\n") + "\n"


def _counts(changes: Iterable[OperatorChange]) -> str:
    kinds = [change.kind for change in changes]
    schemas = sum(change.schema_changed for change in changes)
    numbers = [f"{kinds.count(kind)} {kind.value}" for kind in (ChangeKind.removed, ChangeKind.added)]
    others = kinds.count(ChangeKind.changed) - schemas
    return f"{', '.join(numbers)}, {counted(schemas, 'schema')} changed, {counted(others, 'other difference')}"


def _audience_lines(changes: Sequence[OperatorChange], not_compared: Sequence[Audience]) -> Iterator[str]:
    """How many changes break each audience, as far as the sides could be compared for it."""
    compared = [audience for audience in Audience if audience not in not_compared]
    counts = {audience: sum(audience in change.breaks for change in changes) for audience in compared}
    if not any(counts.values()):
        yield from (f"Of these, none breaks {_names(compared)}.", "")
        return
    yield "Changes that break something, by whom they break"
    width = max(len(audience.name) for audience in Audience)
    for audience, count in counts.items():
        yield f"  {audience.name:<{width}}{count:>6}  {audience.value}"
    yield ""


def _not_compared_lines(comparison: Comparison) -> list[str]:
    """What was not compared, on a line, if there is such."""
    audiences = comparison.not_compared
    lines = [f"Not compared, as a side lacks what it takes: {_names(audiences)}."] if audiences else []
    for label in comparison.running:
        lines.append(f"{label} was read from its process: nothing but schemas and tags was compared.")
    return lines


def _names(audiences: Iterable[Audience]) -> str:
    return ", ".join([audience.name for audience in audiences])


def _task_lines(tasks: Sequence[BackendTask]) -> Iterator[str]:
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


def _change_lines(change: OperatorChange, *, every: bool, with_levels: bool) -> Iterator[str]:
    yield f"  {change.name}"
    if change.old is not None and (change.new is None or change.schema_changed):
        yield from _wrap("      - ", str(change.old.schema))
    if change.new is not None and change.schema_changed:
        yield from _wrap("      + ", str(change.new.schema))
    for text in shown_reasons(change, every=every, with_levels=with_levels):
        yield from _wrap("      ", text)


def shown_reasons(change: OperatorChange, *, every: bool, with_levels: bool = False) -> Iterator[str]:
    """Reasons with the names of those whom they break, and the operators that may replace a removed one."""
    for reason in change.reasons:
        text = f"{f'{reason.does.name}: ' if with_levels else ''}{_dated(reason.text, reason.since)}"
        if reason.audiences:
            yield f"{text}: breaks {audience_names(reason.audiences)}"
        elif every or (with_levels and reason.does is not Level.patch):
            yield text
    if change.similar:
        yield f"with the same arguments there is {', '.join(change.similar)}"


def _dated(text: str, since: str) -> str:
    return f"{text} (since {since})" if since else text


def audience_names(audiences: Iterable[Audience]) -> str:
    """Names of audiences, in the order of their table."""
    chosen = frozenset(audiences)
    return ", ".join([audience.name for audience in Audience if audience in chosen])


def _wrap(lead: str, text: str) -> list[str]:
    """Text behind its lead, with the same indentation on further lines."""
    inner = " " * len(lead)
    return textwrap.wrap(text, WIDTH, initial_indent=lead, subsequent_indent=inner, break_on_hyphens=False)


def render_markdown(
    comparison: Comparison,
    changes: Sequence[OperatorChange],
    tasks: Sequence[BackendTask] | None,
    *,
    every: bool,
    verdict: VersionVerdict | None = None,
) -> str:
    """A heading with the counts, what a backend has to do, a table of what breaks, and a folded list of the rest."""
    lines = [f"### Operators: {comparison.old} → {comparison.new}", ""]
    counts = [f"{sum(change.kind is kind for change in changes)} {kind.value}" for kind in ChangeKind]
    compared = [audience for audience in Audience if audience not in comparison.not_compared]
    broken = [f"{sum(audience in change.breaks for change in changes)} {audience.name}" for audience in compared]
    if verdict is not None:
        lines += [f"**{_verdict_text(verdict, changes)}**", ""]
    lines += [f"{', '.join(counts)}. Breaking: {', '.join(broken)}.", ""]
    for line in _not_compared_lines(comparison):
        lines += [line, ""]
    if tasks is not None:
        lines += _markdown_task_lines(tasks)
    breaking = [change for change in changes if change.breaks]
    if breaking:
        lines += ["| operator | what | breaks |", "| --- | --- | --- |", *map(_row, breaking), ""]
    changed = [change for change in changes if change.schema_changed]
    if changed:
        lines += [*folded_lines(counted(len(changed), "changed schema"), _schema_lines(changed)), ""]
    added = [_dated(f"- `{change.name}`", change.since) for change in changes if change.kind is ChangeKind.added]
    if added:
        lines += [*folded_lines(counted(len(added), "added operator"), iter(added)), ""]
    news = [change for change in changes if change.level is Level.minor and change.kind is ChangeKind.changed]
    if verdict is not None and news:
        rows = [
            f"- `{change.name}`: {'; '.join(shown_reasons(change, every=False, with_levels=True))}" for change in news
        ]
        lines += ["New in operators:", "", *rows, ""]
    if every:
        others = [change for change in changes if not change.breaks and change.kind is ChangeKind.changed]
        rows = [f"- `{change.name}`: {'; '.join(shown_reasons(change, every=True))}" for change in others]
        lines += [*folded_lines(counted(len(rows), "other difference"), iter(rows)), ""]
    return "\n".join(lines).rstrip("\n") + "\n"


def _row(change: OperatorChange) -> str:
    reasons = "<br>".join([_dated(reason.text, reason.since) for reason in change.reasons if reason.audiences])
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


def _markdown_task_lines(tasks: Sequence[BackendTask]) -> Iterator[str]:
    if not tasks:
        yield from ("The backend has nothing to do.", "")
        return
    for kind in TaskKind:
        chosen = [task for task in tasks if task.kind is kind]
        if chosen:
            yield from (f"**{kind.value}**", "")
            for task in chosen:
                yield f"- [ ] `{task.operator}`: {task.message}{f' ({task.help})' if task.help else ''}"
            yield ""


_NUMBER: Final = {"type": "integer"}
_LEVEL: Final = choice(*[level.name for level in Level])
_AUDIENCES: Final = list_of_schema(choice(*[audience.name for audience in Audience]))
_OPTIONAL_TEXT: Final = {"type": ["string", "null"]}

_REASON: Final = (
    field("text", TEXT, "What differs, in a few words."),
    field("breaks", _AUDIENCES, "Whom this breaks."),
    optional("level", _LEVEL, "What this does to the version of a library."),
    optional("since", TEXT, "The first tag or commit that has this, with `--since`."),
)
_CHANGE: Final = (
    field("name", TEXT, "The operator, without `aten::`."),
    field("kind", choice(*[kind.name for kind in ChangeKind]), "What happened to it."),
    field("private", FLAG, "Whether its name begins with `_`."),
    field("old", _OPTIONAL_TEXT, "The old schema."),
    field("new", _OPTIONAL_TEXT, "The new schema."),
    field("breaks", _AUDIENCES, "Whom the change breaks."),
    optional("level", _LEVEL, "What the change does to the version of a library."),
    field("reasons", list_of_schema(reference("reason")), "What differs."),
    field("similar", list_of_schema(TEXT), "Added operators with the same arguments."),
    optional("since", TEXT, "The first tag or commit that has an added operator, with `--since`."),
)
_TASK: Final = (
    field("kind", choice(*[kind.name for kind in TaskKind]), "The kind of work."),
    field("operator", TEXT, "The operator."),
    field("message", TEXT, "What is wrong."),
    field("help", TEXT, "What to write instead."),
    field("line", _NUMBER, "The line in the backend file, 0 without one."),
)
_VERDICT: Final = (
    field("level", _LEVEL, "The greatest level of all changes."),
    field("current", TEXT, "The version that `--current` gives, or nothing."),
    field("next", TEXT, "The next version, or nothing."),
)
_BROKEN: Final = tuple(field(audience.name, _NUMBER, audience.value) for audience in Audience)
_SUMMARY: Final = (
    *[field(kind.name, _NUMBER, "") for kind in ChangeKind],
    field("breaks", mapping_schema(_BROKEN), "How many changes break whom."),
)
_COMPARISON: Final = (
    field("format", {"enum": [FORMAT]}, "The version of the form of the document."),
    field("old", TEXT, "What was compared."),
    field("new", TEXT, "What it was compared with."),
    field("summary", mapping_schema(_SUMMARY), "How many changes there are."),
    field("changes", list_of_schema(reference("change")), "The operators that differ."),
    optional("running", list_of_schema(TEXT), "The sides that are processes: schemas and tags were compared, no more."),
    optional("verdict", mapping_schema(_VERDICT), "What the changes of a library do to its version."),
    optional("backend", list_of_schema(reference("task")), "What the backend has to do, with `--backend`."),
)


def json_schema() -> dict[str, object]:
    """Schema of what `opwright diff --format json` prints."""
    records = {"dump": _COMPARISON, "change": _CHANGE, "reason": _REASON, "task": _TASK}
    return document_schema(f"Comparison of operators by Opwright, format {FORMAT}", records)
