"""Comparisons of generated files as Markdown, for pull requests."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from opwright.diff.formats.markdown_report import folded_lines
from opwright.diff.formats.output_report import SHARED_TEXT, file_counts, line_counts, shown_operators
from opwright.diff.outputs import EVERYBODY, OutputComparison, OutputDifference

__all__ = ["render"]

#: The shortest mark that begins a block of code.
_FENCE: Final = "```"


def render(comparison: OutputComparison, *, in_full: bool) -> str:
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
        fence = max(marks, key=len, default="")
        fence = f"{fence}`" if marks else _FENCE
        yield from [""] * bool(number)
        yield from (f"`{difference.file_class}`", "", f"{fence}diff", *lines, fence)
