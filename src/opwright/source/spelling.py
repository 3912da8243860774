"""Name that a misspelt word was meant for, among the names that there are."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Final

from opwright.source import limits

_LONGEST_WORD: Final = 200
#: What divides the parts of a name.
_PART: Final = re.compile("[-_.]")
#: More edits than any word has letters.
_TOO_MANY: Final = 1_000_000


def nearest_name(word: str, names: Iterable[str]) -> str:
    """Name most like the word, or ""; "" too for more than 200 characters or too many names.

    Of names that are as near, it is the one that begins alike, since more mistakes are made late in a word, and then
    the one with the same letters.

    >>> nearest_name("ad_relu", ["add_relu", "add_rule", "sub"])
    'add_relu'
    """
    pool = frozenset([name for name in names if len(name) <= _LONGEST_WORD])
    if len(word) > _LONGEST_WORD or len(pool) > limits.NAMES:
        return ""
    index = _index(pool)
    same = [name for name in index.folded.get(word.casefold(), ()) if name != word]
    if same:
        return same[0]
    best = _TOO_MANY, 0, 0, 0
    nearest = ""
    for letters, name in index.similar(word):
        if (letters + 1) // 2 > best[0]:
            break
        edits = _misspellings(word, name, best[0])
        distance = edits, -_first_difference(word, name), letters, -len(name)
        if edits and distance <= best:
            best, nearest = distance, name
    return nearest


class _Index:
    """Names by their spelling without capitals, and by their lengths with the letters in them."""

    def __init__(self, names: Iterable[str]) -> None:
        self.folded: Final[dict[str, list[str]]] = {}
        self._by_length: Final[dict[int, list[tuple[int, str]]]] = {}
        for name in sorted(names):
            self.folded.setdefault(name.casefold(), []).append(name)
            self._by_length.setdefault(len(name), []).append((_letters(name), name))

    def similar(self, word: str) -> Sequence[tuple[int, str]]:
        """Names that a few edits lead to, each with the number of letters that differ, fewest first.

        An edit adds a letter, drops one, or replaces one by another. So few names are worth a comparison.
        """
        own, more = _letters(word), len(_PART.findall(word))
        near = []
        for length, names in self._by_length.items():
            most = max(1, min(length, len(word)) // 3) + more
            if abs(length - len(word)) <= most:
                counts = [((own ^ letters).bit_count(), name) for letters, name in names]
                near += [(count, name) for count, name in counts if count <= 2 * most and name != word]
        return sorted(near)


#: Unknown words come in numbers, each with the same names.
_index = lru_cache(maxsize=4)(_Index)


def _letters(text: str) -> int:
    """Letters of a text as bits, so that texts differ in as many bits as in letters, or in fewer."""
    bits = 0
    for letter in set(text):
        bits |= ((1 << min(text.count(letter), 8)) - 1) << 8 * (ord(letter) % 64)
    return bits


def _misspellings(word: str, name: str, most: int) -> int:
    """How many edits lead from a word to a name, or 0: for more than `most`, and for too many in a part of the name.

    Many names end alike: `abs_bakward` is only four letters away from `sum_backward`, and another name all the same.
    """
    most = min(most, (max(len(word), len(name)) - 1) // 2)
    parts, others = _PART.split(word), _PART.split(name)
    edits = 0
    for part, other in zip(parts, others, strict=True) if len(parts) == len(others) else [(word, name)]:
        if part != other:
            edits += _edits(part, other, min(most - edits, max(1, min(len(part), len(other)) // 3)))
            if edits > most:
                return 0
    return edits


def _edits(left: str, right: str, most: int) -> int:
    """How many letters to add, drop, replace or swap with their neighbour to turn one text into the other.

    More than `most` count as too many.

    >>> _edits("headrs", "headers", 2), _edits("genrate", "generate", 2), _edits("snad", "sand", 2)
    (1, 1, 1)
    >>> _edits("headers", "sources", 2) == _TOO_MANY
    True
    """
    before: list[int] = []
    above = list(range(len(right) + 1))
    for row, letter in enumerate(left, 1):
        line = [row]
        for column, other in enumerate(right, 1):
            edits = above[column - 1]
            if letter != other:
                edits = 1 + min(edits, above[column], line[-1])
                if row > 1 and column > 1 and letter == right[column - 2] and left[row - 2] == other:
                    edits = min(edits, before[column - 2] + 1)
            line.append(edits)
        before, above = above, line
        if min(before) > most and min(above) > most:
            return _TOO_MANY
    return above[-1] if above[-1] <= most else _TOO_MANY


def _first_difference(left: str, right: str) -> int:
    """How many letters two texts begin with alike."""
    shorter = min(len(left), len(right))
    return next((place for place in range(shorter) if left[place] != right[place]), shorter)
