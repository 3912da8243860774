"""Comparisons of generated files as text, as JSON, and as Markdown for pull requests."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Final

from opwright.tools.diff.outputs import EVERYBODY, OutputComparison, OutputDifference
from opwright.tools.diff.reports import WIDTH, folded_lines
from opwright.tools.dump.data import JsonValue
from opwright.tools.dump.document import render_dump

#: The version of the form of the JSON.
FORMAT: Final = 1

#: As many operators are listed.
_MOST: Final = 40
#: What stands for the operator of text that no operator owns.
SHARED_TEXT: Final = "(text that no operator owns)"


def render_text(comparison: OutputComparison, *, in_full: bool) -> str:
    """How many files differ, the classes of files, and the operators; with `in_full`, the lines that differ."""
    lines = [f"{comparison.old} -> {comparison.new}: {file_counts(comparison)}"]
    if comparison.is_empty:
        return f"{lines[0]}\n"
    lines += ["", "Operators with differences, by class of file", *_class_lines(comparison), ""]
    shown, more = shown_operators(comparison, in_full=in_full)
    lines.append(f"Differences by operator: {len(shown) + more}")
    for operator, differences in shown.items():
        lines += _operator_lines(operator, differences, in_full=in_full)
    if more:
        lines.append(f"  and {more} more; `--all` shows each line, and names choose operators")
    return "\n".join(lines) + "\n"


def file_counts(comparison: OutputComparison) -> str:
    """How many files differ."""
    if comparison.is_empty:
        return "no file differs"
    counted = ((comparison.changed, "differ"), (comparison.removed, "are gone"), (comparison.added, "are new"))
    return "files: " + ", ".join([f"{len(paths)} {what}" for paths, what in counted])


def shown_operators(
    comparison: OutputComparison, *, in_full: bool
) -> tuple[Mapping[str, Sequence[OutputDifference]], int]:
    """The differences by operator: those of the first operators, or of all `in_full`, and how many more there are."""
    operators = comparison.by_operator()
    shown = operators if in_full else dict(islice(operators.items(), _MOST))
    return shown, len(operators) - len(shown)


def line_counts(comparison: OutputComparison) -> Iterator[tuple[str, int, int, int]]:
    """The classes of files, each with the numbers of operators, of lines that are gone, and of new ones."""
    for name, differences in comparison.by_class().items():
        counts = [difference.counts() for difference in differences]
        yield name, len(differences), sum(gone for gone, _ in counts), sum(new for _, new in counts)


def _class_lines(comparison: OutputComparison) -> Iterator[str]:
    rows = list(line_counts(comparison))
    width = max([len(name) for name, *_ in rows], default=0)
    for name, operators, gone, new in rows:
        yield f"  {name:<{width}} {operators:>5}  lines -{gone} +{new}"


def _operator_lines(operator: str, differences: Sequence[OutputDifference], *, in_full: bool) -> Iterator[str]:
    name = SHARED_TEXT if operator == EVERYBODY else operator
    if not in_full:
        classes = ", ".join([difference.file_class for difference in differences])
        inner = " " * 6
        yield from textwrap.wrap(
            f"  {name}: {classes}", WIDTH, subsequent_indent=inner, break_on_hyphens=False, break_long_words=False
        )
        return
    for difference in differences:
        yield f"  {name}, {difference.file_class}"
        yield from [f"    {line}" for line in difference.unified_lines]


def render_json(comparison: OutputComparison) -> str:
    """The files that differ, and for each operator and class of file how many lines do."""
    data: dict[str, JsonValue] = {
        "format": FORMAT,
        "old": comparison.old,
        "new": comparison.new,
        "changed": [*comparison.changed],
        "removed": [*comparison.removed],
        "added": [*comparison.added],
        "differences": [_difference_data(difference) for difference in comparison.differences],
    }
    return render_dump(data)


def _difference_data(difference: OutputDifference) -> JsonValue:
    gone, new = difference.counts()
    return {"operator": difference.operator, "class": difference.file_class, "lines_gone": gone, "lines_new": new}


def render_markdown(comparison: OutputComparison, *, in_full: bool) -> str:
    """A heading, the counts, a table of the classes of files, and a folded list of operators.

    With `in_full`, the lines that differ, folded for each operator.
    """
    counts = file_counts(comparison)
    lines = [f"### Generated files: {comparison.old} → {comparison.new}", "", f"{counts[0].upper()}{counts[1:]}.", ""]
    if comparison.is_empty:
        return "\n".join(lines[:-1]) + "\n"
    rows = [f"| `{name}` | {operators} | -{gone} +{new} |" for name, operators, gone, new in line_counts(comparison)]
    lines += ["| class of files | operators | lines |", "| --- | ---: | ---: |", *rows, ""]
    shown, more = shown_operators(comparison, in_full=in_full)
    if in_full:
        for operator, differences in shown.items():
            lines += [*folded_lines(_title(operator), _difference_lines(differences)), ""]
    else:
        items = [f"- {_title(operator)}: {_class_names(differences)}" for operator, differences in shown.items()]
        items += [f"- and {more} more"] * bool(more)
        lines += folded_lines(f"Operators with differences: {len(shown) + more}", iter(items))
    return "\n".join(lines).rstrip("\n") + "\n"


def _title(operator: str) -> str:
    return SHARED_TEXT if operator == EVERYBODY else f"<code>{operator}</code>"


def _class_names(differences: Sequence[OutputDifference]) -> str:
    return ", ".join([f"`{difference.file_class}`" for difference in differences])


def _difference_lines(differences: Sequence[OutputDifference]) -> Iterator[str]:
    """The lines that differ, in a block for each class of files that nothing in them ends."""
    for number, difference in enumerate(differences):
        lines = difference.unified_lines
        marks = [mark for line in lines for mark in re.findall("`{3,}", line)]
        fence = max(marks, key=len) + "`" if marks else "```"
        yield from [""] * bool(number)
        yield from (f"`{difference.file_class}`", "", f"{fence}diff", *lines, fence)
