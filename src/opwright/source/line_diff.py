"""Differences between two lists of lines, in time that grows with their number.

What `difflib` finds reads best, but takes more than the square of the lines. So it compares only what lies between
lines that both texts have once, in the same order. What is still too long and has no such line differs as a whole.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from difflib import Match, SequenceMatcher
from typing import Any, Final, TypeVar

_Line = TypeVar("_Line", str, bytes)

#: Pairs of lines that `difflib` compares at once: those of two texts of 500 lines.
_PAIRS: Final = 250_000
#: How often what lies between such lines is searched for lines that are the only ones there.
_LEVELS: Final = 8


class LineMatcher(SequenceMatcher[Any]):
    """Compares lines, and is bounded: the blocks of equal lines, from which all else follows, are found here."""

    def __init__(self, old: Sequence[_Line], new: Sequence[_Line]) -> None:
        super().__init__(None, old, new, autojunk=False)
        self._old: Final[Sequence[Any]] = old
        self._new: Final[Sequence[Any]] = new

    def get_matching_blocks(self) -> list[Match]:
        """Blocks of equal lines, and an empty one at the end."""
        blocks = [Match(0, 0, 0)]
        for old, new, size in _blocks(self._old, self._new, (0, len(self._old)), (0, len(self._new))):
            last = blocks[-1]
            if (last.a + last.size, last.b + last.size) == (old, new):
                blocks[-1] = last._replace(size=last.size + size)
            else:
                blocks.append(Match(old, new, size))
        return [*[block for block in blocks if block.size], Match(len(self._old), len(self._new), 0)]


def _blocks(
    old: Sequence[_Line], new: Sequence[_Line], of_old: tuple[int, int], of_new: tuple[int, int], levels: int = _LEVELS
) -> Iterator[tuple[int, int, int]]:
    """Blocks of equal lines in two ranges, in order."""
    (first, last), (begin, end) = of_old, of_new
    if (last - first) * (end - begin) <= _PAIRS:
        matcher = SequenceMatcher(None, old[first:last], new[begin:end], autojunk=False)
        yield from [(first + block.a, begin + block.b, block.size) for block in matcher.get_matching_blocks()]
        return
    length = min(last - first, end - begin)
    head = next((at for at in range(length) if old[first + at] != new[begin + at]), length)
    length -= head
    tail = next((at for at in range(length) if old[last - at - 1] != new[end - at - 1]), length)
    yield first, begin, head
    at, other = first + head, begin + head
    anchors = _anchors(old[at : last - tail], new[other : end - tail]) if levels else []
    ends: list[tuple[int, int]] = [(at + line, other + other_line) for line, other_line in anchors]
    for line, other_line in [*ends, (last - tail, end - tail)] if ends else ():
        yield from _blocks(old, new, (at, line), (other, other_line), levels - 1)
        # An anchor begins the next range, of which it is the head.
        at, other = line, other_line
    yield last - tail, end - tail, tail


def _anchors(old: Sequence[_Line], new: Sequence[_Line]) -> list[tuple[int, int]]:
    """Longest row of lines that both texts have once, in the same order."""
    counts, others = Counter(old), Counter(new)
    places = {line: place for place, line in enumerate(new) if others[line] == 1}
    pairs = [(place, places[line]) for place, line in enumerate(old) if counts[line] == 1 and line in places]
    ends: list[int] = []
    rows: list[int] = []
    before: list[int] = []
    for number, (_, place) in enumerate(pairs):
        length = bisect_left(ends, place)
        before.append(rows[length - 1] if length else -1)
        ends[length : length + 1] = [place]
        rows[length : length + 1] = [number]
    row: list[tuple[int, int]] = []
    number = rows[-1] if rows else -1
    while number >= 0:
        row.append(pairs[number])
        number = before[number]
    return row[::-1]


def unified_lines(
    old: Sequence[str], new: Sequence[str], paths: tuple[str, str] = ("", ""), *, end: str = "\n", context: int = 3
) -> Iterator[str]:
    """Unified difference of two lists of lines, as `difflib.unified_diff` prints it; nothing for equal ones.

    >>> print(*unified_lines(["a", "b"], ["a", "c"], ("old", "new"), end=""), sep="\\n")
    --- old
    +++ new
    @@ -1,2 +1,2 @@
     a
    -b
    +c
    """
    groups = list(LineMatcher(old, new).get_grouped_opcodes(context))
    if groups:
        yield f"--- {paths[0]}{end}"
        yield f"+++ {paths[1]}{end}"
    for group in groups:
        yield f"@@ -{_range(group[0][1], group[-1][2])} +{_range(group[0][3], group[-1][4])} @@{end}"
        for kind, first, last, begin, stop in group:
            if kind == "equal":
                yield from [f" {line}" for line in old[first:last]]
            else:
                yield from [f"-{line}" for line in old[first:last]]
                yield from [f"+{line}" for line in new[begin:stop]]


def _range(first: int, last: int) -> str:
    """A range of lines as a unified difference writes it."""
    if last - first == 1:
        return str(first + 1)
    return f"{first + (last > first)},{last - first}"
