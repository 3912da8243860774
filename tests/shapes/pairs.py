"""Rows that together have every pair of values of some factors."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from random import Random
from typing import Final, NamedTuple

__all__ = ["Factors", "Pair", "Row", "Taste", "all_pairs", "pairs_of", "rows_with"]

#: What may vary: for each factor its values, the most ordinary one first.
Factors = Mapping[str, Sequence[str]]

#: A value of each factor.
Row = dict[str, str]

#: Two factors with a value each.
Pair = tuple[tuple[str, str], tuple[str, str]]

#: How many candidates are compared for each row.
_CANDIDATES: Final = 4


def all_pairs(factors: Factors) -> list[Pair]:
    """Every pair of values of two factors.

    >>> len(all_pairs({"a": ["1", "2"], "b": ["1", "2", "3"], "c": ["1"]}))
    11
    """
    return [
        ((first, value), (second, other))
        for first, second in combinations(factors, 2)
        for value in factors[first]
        for other in factors[second]
    ]


def pairs_of(row: Row) -> Iterator[Pair]:
    """The pairs that a row has."""
    return combinations(row.items(), 2)


class Taste(NamedTuple):
    """How values are chosen: the ordinary one with a probability, and none that makes a pair to avoid."""

    random: Random
    ordinary: float = 0.0
    avoided: Collection[Pair] = ()


def rows_with(pairs: Iterable[Pair], factors: Factors, taste: Taste) -> list[Row]:
    """Rows with all of the pairs.

    >>> factors = {"a": ["1", "2"], "b": ["1", "2"], "c": ["1", "2"]}
    >>> rows = rows_with(all_pairs(factors), factors, Taste(Random(0)))
    >>> {pair for row in rows for pair in pairs_of(row)} == set(all_pairs(factors)), len(rows) < 8
    (True, True)
    """
    missing = dict.fromkeys(pairs)
    rows: list[Row] = []
    while missing:
        seed = next(iter(missing))
        candidates = [_row_with(seed, missing, factors, taste) for _ in range(_CANDIDATES)]
        best = max(candidates, key=lambda row: sum(pair in missing for pair in pairs_of(row)))
        for pair in pairs_of(best):
            missing.pop(pair, None)
        rows.append(best)
    return rows


def _row_with(seed: Pair, missing: Collection[Pair], factors: Factors, taste: Taste) -> Row:
    """A row with a pair, whose other values bring as many missing pairs as they can, chosen one after the other."""
    chosen = dict(seed)
    others = [factor for factor in factors if factor not in chosen]
    taste.random.shuffle(others)
    order = {factor: position for position, factor in enumerate(factors)}
    for factor in others:
        values = list(factors[factor])
        if taste.random.random() < taste.ordinary:
            chosen[factor] = values[0]
            continue
        taste.random.shuffle(values)
        gains = {}
        for value in values:
            made = [_pair((other, own), (factor, value), order) for other, own in chosen.items()]
            gains[value] = sum(pair in missing for pair in made) - 100 * sum(pair in taste.avoided for pair in made)
        chosen[factor] = max(values, key=gains.__getitem__)
    return {factor: chosen[factor] for factor in factors}


def _pair(first: tuple[str, str], second: tuple[str, str], order: Mapping[str, int]) -> Pair:
    return (first, second) if order[first[0]] < order[second[0]] else (second, first)
