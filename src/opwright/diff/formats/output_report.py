"""Comparisons of generated files as text and as JSON."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from typing import Final

from opwright.diff.outputs import EVERYBODY, OutputComparison, OutputDifference
from opwright.dump.data import JsonValue
from opwright.dump.document import render_dump

__all__ = ["render_json", "render_text"]

#: The version of the form of the JSON.
FORMAT: Final = 1

WIDTH: Final = 80
_MOST: Final = 40
_SHARED: Final = "(text that no operator owns)"


def render_text(comparison: OutputComparison, *, in_full: bool) -> str:
    """How many files differ, the classes of files, and the operators; with `in_full`, the lines that differ."""
    lines = [f"{comparison.old} -> {comparison.new}: {_counts(comparison)}"]
    if comparison.is_empty:
        return f"{lines[0]}\n"
    lines += ["", "Operators with differences, by class of file", *_class_lines(comparison), ""]
    operators = comparison.by_operator()
    lines.append(f"Differences by operator: {len(operators)}")
    shown = list(operators.items())
    for operator, differences in shown if in_full else shown[:_MOST]:
        lines += _operator_lines(operator, differences, in_full=in_full)
    if len(shown) > _MOST and not in_full:
        lines.append(f"  and {len(shown) - _MOST} more; `--all` shows each line, and names choose operators")
    return "\n".join(lines) + "\n"


def _counts(comparison: OutputComparison) -> str:
    if comparison.is_empty:
        return "no file differs"
    counted = ((comparison.changed, "differ"), (comparison.removed, "are gone"), (comparison.added, "are new"))
    return "files: " + ", ".join([f"{len(paths)} {what}" for paths, what in counted])


def _class_lines(comparison: OutputComparison) -> Iterator[str]:
    classes = comparison.by_class()
    width = max(map(len, classes), default=0)
    for name, differences in classes.items():
        counted = [difference.counts() for difference in differences]
        gone, new = sum(count[0] for count in counted), sum(count[1] for count in counted)
        yield f"  {name:<{width}} {len(differences):>5}  lines -{gone} +{new}"


def _operator_lines(operator: str, differences: Sequence[OutputDifference], *, in_full: bool) -> Iterator[str]:
    name = _SHARED if operator == EVERYBODY else operator
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
