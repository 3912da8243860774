"""What differs between two sets of generated files, by operator and by class of file.

The class of a file is the emitter that makes it. The provenance of a run says which operators each line was made for,
so the lines of an operator are compared, wherever in the files of a class they are. Without provenance, files are
compared as a whole.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import unified_diff
from typing import Final, NamedTuple

#: The name that stands for lines that no operator owns.
EVERYBODY: Final = ""


class FileLines(NamedTuple):
    """The emitter of a file, and its ranges of lines: the first line, the last one, and the operator."""

    emitter: str
    ranges: Sequence[tuple[int, int, str]]


class OutputSide(NamedTuple):
    """One set of files: what it is, the contents by path below the folder, and the origin of lines by path."""

    label: str
    contents: Mapping[str, bytes]
    origins: Mapping[str, FileLines]


class OutputDifference(NamedTuple):
    """The lines of an operator in the files of one class, where they differ."""

    operator: str
    file_class: str
    old: tuple[str, ...]
    new: tuple[str, ...]

    @property
    def unified_lines(self) -> list[str]:
        """The difference as lines that begin with a space, `-` or `+`."""
        return list(unified_diff(self.old, self.new, lineterm="", n=2))[2:]

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
        """The differences by class of file, in alphabetical order."""
        classes: dict[str, list[OutputDifference]] = {}
        for difference in sorted(self.differences, key=lambda difference: difference.file_class):
            classes.setdefault(difference.file_class, []).append(difference)
        return classes

    def by_operator(self) -> dict[str, list[OutputDifference]]:
        """The differences by operator, in alphabetical order; those of no operator come last."""
        operators: dict[str, list[OutputDifference]] = {}
        for difference in sorted(self.differences, key=lambda difference: _order(difference.operator)):
            operators.setdefault(difference.operator, []).append(difference)
        return operators


def _order(operator: str) -> tuple[bool, str, str]:
    return operator == EVERYBODY, operator.lstrip("_").lower(), operator


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


def _lines_by_owner(side: OutputSide, paths: Iterable[str]) -> dict[tuple[str, str], list[str]]:
    """The lines of these files by class of file and operator, in the order of the files."""
    lines_by_owner: dict[tuple[str, str], list[str]] = {}
    for path in paths:
        data = side.contents.get(path)
        if data is None:
            continue
        origin = side.origins.get(path, FileLines(_class_of(path), ()))
        lines = data.decode("utf-8", "replace").split("\n")
        for line, operators in zip(lines, _owners(len(lines), origin.ranges), strict=True):
            for operator in operators or (EVERYBODY,):
                lines_by_owner.setdefault((origin.emitter, operator), []).append(line)
    return lines_by_owner


def _owners(count: int, ranges: Sequence[tuple[int, int, str]]) -> Iterator[list[str]]:
    """The operators of each line of a file."""
    owners: list[list[str]] = [[] for _ in range(count)]
    for first, last, operator in ranges:
        for number in range(max(first, 1), min(last, count) + 1):
            owners[number - 1].append(operator)
    yield from owners


def _class_of(path: str) -> str:
    """The class of a file whose emitter is unknown: its folder and its suffix."""
    folder, name = os.path.split(path)
    return f"{folder or '.'}/*{os.path.splitext(name)[1]}"
