"""Comparing two sets of files, byte for byte."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from difflib import unified_diff
from itertools import islice
from pathlib import Path

from opwright.files.staging import STATE_FOLDER
from tests.conformance.families import family

CONTEXT_LINES = 3
WINDOW_LINES = 40
WIDEST_LINE = 300


@dataclass
class Tally:
    """How many files of one family were compared, and how they fared."""

    identical: int = 0
    different: int = 0
    missing: int = 0
    extra: int = 0

    @property
    def files(self) -> int:
        """The number of files that stand on either side."""
        return self.identical + self.different + self.missing + self.extra


@dataclass
class Comparison:
    """What came out of one comparison: tallies by family, faulty paths by kind, and the first difference as text."""

    tallies: dict[str, Tally] = field(default_factory=dict)
    different: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    extra: list[str] = field(default_factory=list)
    first_difference: str = ""

    @property
    def is_clean(self) -> bool:
        """Whether every file stands on both sides with the same bytes."""
        return not (self.different or self.missing or self.extra)

    def total(self) -> Tally:
        """The tallies of all families added up."""
        tallies = self.tallies.values()
        return Tally(
            sum(tally.identical for tally in tallies),
            sum(tally.different for tally in tallies),
            sum(tally.missing for tally in tallies),
            sum(tally.extra for tally in tallies),
        )


def files_below(folder: Path) -> Iterator[str]:
    """The paths of all outputs below `folder`, from it on, with forward slashes; not what runs remember there."""
    start = len(os.fspath(folder)) + 1
    for parent, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if name != STATE_FOLDER]
        for name in names:
            yield f"{parent}/{name}"[start:].replace(os.sep, "/")


def compare(expected: Mapping[str, bytes], actual: Path) -> Comparison:
    """Compare the files below the folder `actual` with `expected`, which maps paths to bytes."""
    outcome = Comparison()
    paths = set(files_below(actual))
    for path in sorted(paths.union(expected)):
        tally = outcome.tallies.setdefault(family(path), Tally())
        if path not in paths:
            tally.missing += 1
            outcome.missing.append(path)
        elif path not in expected:
            tally.extra += 1
            outcome.extra.append(path)
        else:
            wanted, given = expected[path], (actual / path).read_bytes()
            if wanted == given:
                tally.identical += 1
                continue
            tally.different += 1
            outcome.different.append(path)
            if not outcome.first_difference:
                outcome.first_difference = difference(path, wanted, given)
    return outcome


def difference(path: str, expected: bytes, actual: bytes) -> str:
    """A unified diff of the first place where two unequal texts part.

    Only a window of lines round that place is compared: a full diff of two 5 MB files would take minutes.
    """
    wanted, given = (text.decode("utf-8", "backslashreplace").splitlines() for text in (expected, actual))
    parting = next(
        (number for number, lines in enumerate(zip(wanted, given, strict=False)) if lines[0] != lines[1]),
        min(len(wanted), len(given)),
    )
    if parting == len(wanted) == len(given):
        return (
            f"{path}: the lines are equal; the line ends differ ({len(expected)} bytes expected, {len(actual)} given)"
        )
    start = max(parting - CONTEXT_LINES, 0)
    left, right = (
        [line[:WIDEST_LINE] for line in islice(lines, start, parting + WINDOW_LINES)] for lines in (wanted, given)
    )
    if left == right:
        return f"{path}:{parting + 1}: a line differs after column {WIDEST_LINE}"
    diff = unified_diff(left, right, f"reference/{path}", f"opwright/{path}", lineterm="", n=CONTEXT_LINES)
    return f"{path}:{parting + 1}: the first difference\n" + "\n".join(islice(diff, 2 * WINDOW_LINES))
