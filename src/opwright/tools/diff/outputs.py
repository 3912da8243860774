"""What differs between two sets of generated files, by operator and by class of file.

The class of a file is the emitter that makes it. The provenance of a run says which operators each line was made for,
so the lines of an operator are compared, wherever in the files of a class they are. Without provenance, files are
compared as a whole.
"""

from __future__ import annotations

import os
import re
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Final, NamedTuple

from opwright.source.lazy import lazy_pattern
from opwright.source.line_diff import unified_lines
from opwright.tools.diff.reports import WIDTH, folded_lines
from opwright.tools.dump.data import JsonValue
from opwright.tools.dump.document import render_dump

#: The name that stands for lines that no operator owns.
EVERYBODY: Final = ""


class FileLines(NamedTuple):
    """Emitter of a file, and its ranges of lines: the first line, the last one, and the operator.

    `text` has the lines that are compared, if these are not all of the file; the ranges are then those in it.
    """

    emitter: str
    ranges: Sequence[tuple[int, int, str]]
    text: Sequence[str] | None = None


class OutputSide(NamedTuple):
    """One set of files: what it is, the contents by path below the folder, and the origin of lines by path."""

    label: str
    contents: Mapping[str, bytes]
    origins: Mapping[str, FileLines]


class OutputDifference(NamedTuple):
    """Lines of an operator in the files of one class, where they differ."""

    operator: str
    file_class: str
    old: tuple[str, ...]
    new: tuple[str, ...]

    @property
    def unified_lines(self) -> list[str]:
        """Difference as lines that begin with a space, `-` or `+`."""
        return list(unified_lines(self.old, self.new, end="", context=2))[2:]

    def counts(self) -> tuple[int, int]:
        """How many lines are gone, and how many are new."""
        lines = self.unified_lines
        return sum(line.startswith("-") for line in lines), sum(line.startswith("+") for line in lines)


class OutputComparison(NamedTuple):
    """What differs: the paths of files that only one side has, of those that differ, and the differences."""

    old: str
    new: str
    removed: tuple[str, ...]
    added: tuple[str, ...]
    changed: tuple[str, ...]
    differences: tuple[OutputDifference, ...]

    @property
    def is_empty(self) -> bool:
        """Whether both sides are the same."""
        return not (self.removed or self.added or self.changed)

    def by_class(self) -> dict[str, list[OutputDifference]]:
        """Differences by class of file, in alphabetical order."""
        classes: dict[str, list[OutputDifference]] = {}
        for difference in sorted(self.differences, key=lambda difference: difference.file_class):
            classes.setdefault(difference.file_class, []).append(difference)
        return classes

    def by_operator(self) -> dict[str, list[OutputDifference]]:
        """Differences by operator, in alphabetical order; those of no operator come last."""
        operators: dict[str, list[OutputDifference]] = {}
        for difference in self.differences:
            operators.setdefault(difference.operator, []).append(difference)
        return dict(
            sorted(operators.items(), key=lambda row: (row[0] == EVERYBODY, row[0].lstrip("_").lower(), row[0]))
        )


def compare_outputs(old: OutputSide, new: OutputSide) -> OutputComparison:
    """What differs between two sets of files."""
    before, after = old.contents, new.contents
    changed = [path for path in sorted({*before, *after}) if before.get(path) != after.get(path)]
    sides = [_lines_by_owner(side, changed) for side in (old, new)]
    differences = [
        OutputDifference(operator, file_class, tuple(sides[0].get(key, ())), tuple(sides[1].get(key, ())))
        for key in sorted({*sides[0], *sides[1]})
        for file_class, operator in (key,)
        if sides[0].get(key) != sides[1].get(key)
    ]
    return OutputComparison(
        old.label,
        new.label,
        tuple([path for path in changed if path not in after]),
        tuple([path for path in changed if path not in before]),
        tuple([path for path in changed if path in before and path in after]),
        tuple(differences),
    )


#: A digest of the texts of a package. It tells nothing that these do not.
DIGEST: Final = lazy_pattern(r'"[0-9a-f]{32}"')


def _lines_by_owner(side: OutputSide, paths: Iterable[str]) -> dict[tuple[str, str], list[str]]:
    """Lines of these files by class of file and operator, in the order of the files."""
    lines_by_owner: dict[tuple[str, str], list[str]] = {}
    for path in paths:
        data = side.contents.get(path)
        if data is None:
            continue
        # The class of a file whose emitter is unknown is its folder and its suffix.
        folder, suffix = os.path.dirname(path), os.path.splitext(path)[1]
        origin = side.origins.get(path, FileLines(f"{folder or '.'}/*{suffix}", ()))
        lines = data.decode("utf-8", "replace").split("\n") if origin.text is None else origin.text
        for line, owners in zip(lines, _owners(len(lines), origin.ranges), strict=True):
            for operator in () if DIGEST.search(line) else owners or (EVERYBODY,):
                lines_by_owner.setdefault((origin.emitter, operator), []).append(line)
    return lines_by_owner


def _owners(count: int, ranges: Sequence[tuple[int, int, str]]) -> list[Sequence[str]]:
    """Operators of each line of a file."""
    owners: list[Sequence[str]] = [()] * count
    for first, last, operator in ranges:
        for number in range(max(first, 1), min(last, count) + 1):
            owners[number - 1] = (*owners[number - 1], operator)
    return owners


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
    """Differences by operator: those of the first operators, or of all `in_full`, and how many more there are."""
    operators = comparison.by_operator()
    shown = operators if in_full else dict(islice(operators.items(), _MOST))
    return shown, len(operators) - len(shown)


def line_counts(comparison: OutputComparison) -> Iterator[tuple[str, int, int, int]]:
    """Classes of files, each with the numbers of operators, of lines that are gone, and of new ones."""
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
    """Files that differ, and for each operator and class of file how many lines do."""
    differences: list[JsonValue] = []
    for difference in comparison.differences:
        gone, new = difference.counts()
        row = {"operator": difference.operator, "class": difference.file_class}
        differences.append({**row, "lines_gone": gone, "lines_new": new})
    data: dict[str, JsonValue] = {
        "format": FORMAT,
        "old": comparison.old,
        "new": comparison.new,
        "changed": [*comparison.changed],
        "removed": [*comparison.removed],
        "added": [*comparison.added],
        "differences": differences,
    }
    return render_dump(data)


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
        items = [
            f"- {_title(operator)}: {', '.join([f'`{difference.file_class}`' for difference in differences])}"
            for operator, differences in shown.items()
        ]
        items += [f"- and {more} more"] * bool(more)
        lines += folded_lines(f"Operators with differences: {len(shown) + more}", iter(items))
    return "\n".join(lines).rstrip("\n") + "\n"


def _title(operator: str) -> str:
    return SHARED_TEXT if operator == EVERYBODY else f"<code>{operator}</code>"


def _difference_lines(differences: Sequence[OutputDifference]) -> Iterator[str]:
    """Lines that differ, in a block for each class of files that nothing in them ends."""
    for number, difference in enumerate(differences):
        lines = difference.unified_lines
        marks = [mark for line in lines for mark in re.findall("`{3,}", line)]
        fence = max(marks, key=len) + "`" if marks else "```"
        yield from [""] * bool(number)
        yield from (f"`{difference.file_class}`", "", f"{fence}diff", *lines, fence)
