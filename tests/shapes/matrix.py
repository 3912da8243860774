"""The rows of a library that `opwright check` accepts, and which code refuses each of the other pairs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from random import Random
from typing import Final, NamedTuple

import opwright
from opwright.run.check import CheckRequest, check
from opwright.source.diagnostic import Severity
from opwright.source.text import SourceFile
from tests.shapes.entries import FACTORS, HELPERS, Entries, entries_of
from tests.shapes.pairs import Pair, Row, Taste, all_pairs, pairs_of, rows_with

__all__ = ["HEADS", "Matrix", "make_matrix", "write_library"]

#: The head of the library file for each C++ interface.
HEADS: Final = {
    "native": "derivatives: derivatives.yaml\nderivative_includes: [helpers.h]\nc_shims: [cpu]\n",
    "stable": "abi: stable\n",
}

#: How often pairs that were refused are tried again, with more and more ordinary values beside them.
_ORDINARY: Final = (0.0, 0.0, 0.0, 0.2, 0.4, 0.6, 0.8)


class Matrix(NamedTuple):
    """The rows that were accepted, by number, and the code that refuses each pair that no row has."""

    rows: Mapping[int, Row]
    refused: Mapping[Pair, str]
    tried: int

    @property
    def covered(self) -> int:
        """How many pairs are accepted."""
        return len(all_pairs(FACTORS)) - len(self.refused)

    def table(self) -> str:
        """How many pairs each code refuses, with the pair of values that most of them have in common."""
        lines = []
        for code, count in Counter(self.refused.values()).most_common():
            values = Counter(value for pair, own in self.refused.items() if own == code for value in pair)
            common = ", ".join([f"{factor}={value} ({times})" for (factor, value), times in values.most_common(3)])
            lines.append(f"{code:8} {count:6}  {common}")
        return "\n".join(lines)


def write_library(folder: Path, head: str, entries: Mapping[int, Entries]) -> dict[str, list[int]]:
    """Write a library file with the entries, and their derivatives. Gives, by path, the number of each line's entry."""
    folder.mkdir(parents=True, exist_ok=True)
    opening = f"namespace: shapes\n{head}operators:\n"
    owners = {"shapes.yaml": [-1] * opening.count("\n"), "derivatives.yaml": []}
    texts = {"shapes.yaml": [opening], "derivatives.yaml": []}
    for number, own in entries.items():
        for path, text in (("shapes.yaml", own.entries), ("derivatives.yaml", own.derivative)):
            texts[path].append(text)
            owners[path] += [number] * text.count("\n")
    for path, parts in texts.items():
        (folder / path).write_text("".join(parts) or "[]\n", encoding="utf-8")
    (folder / "helpers.h").write_text(HELPERS, encoding="utf-8")
    return {str(folder / path): lines for path, lines in owners.items()}


def refusals(folder: Path, head: str, entries: Mapping[int, Entries]) -> dict[int, str]:
    """The code of the first error of each number whose entries are refused, when all others are accepted."""
    inputs = opwright.open_inputs("auto")
    refused: dict[int, str] = {}
    left = dict(entries)
    while left:
        owners = write_library(folder, head, left)
        file = SourceFile.read(str(folder / "shapes.yaml"))
        diagnostics = check(CheckRequest(inputs, libraries=(file,)))
        errors = [diagnostic for diagnostic in diagnostics if diagnostic.severity is Severity.ERROR]
        if not errors:
            break
        for error in errors:
            assert error.span is not None, error
            number = owners[error.span.file.path][error.span.line - 1]
            assert number >= 0, error
            refused.setdefault(number, error.code)
            left.pop(number, None)
    return refused


def make_matrix(folder: Path, head: str, seed: int = 0) -> Matrix:
    """Rows with every pair that some row with it is accepted for.

    First each pair is tried with ordinary values beside it, which shows the pairs that are refused for themselves.
    """
    random = Random(seed)
    everything = all_pairs(FACTORS)
    accepted: dict[int, Row] = {}
    codes: dict[Pair, str] = {}
    missing = dict.fromkeys(everything)

    def attempt(taste: Taste) -> dict[Pair, None]:
        """The missing pairs that rows of a taste have, when they are accepted."""
        first = len(tried)
        tried.extend(rows_with(missing, FACTORS, taste))
        rows = dict(enumerate(tried[first:], first))
        refused = refusals(folder, head, {number: entries_of(number, row) for number, row in rows.items()})
        covered: dict[Pair, None] = {}
        for number, row in rows.items():
            own = [pair for pair in pairs_of(row) if pair in missing]
            if number in refused:
                codes.update(dict.fromkeys(own, refused[number]))
            else:
                accepted[number] = row
                covered.update(dict.fromkeys(own))
        return covered

    tried: list[Row] = []
    ordinary = attempt(Taste(random, ordinary=1.0))
    odd = [pair for pair in everything if pair not in ordinary]
    for share in _ORDINARY:
        avoided = frozenset(odd) if share < 1 else frozenset()
        for pair in attempt(Taste(random, share, avoided)):
            missing.pop(pair)
    for pair in ordinary:
        missing.pop(pair, None)
    return Matrix(_needed(accepted), {pair: codes[pair] for pair in missing}, len(tried))


def _needed(rows: Mapping[int, Row]) -> dict[int, Row]:
    """Few of the rows with all of their pairs: always the one with the most that are missing."""
    left = {number: set(pairs_of(row)) for number, row in rows.items()}
    chosen: dict[int, Row] = {}
    while left:
        number = max(left, key=lambda number: len(left[number]))
        covered = left.pop(number)
        chosen[number] = rows[number]
        for pairs in left.values():
            pairs -= covered
        left = {number: pairs for number, pairs in left.items() if pairs}
    return chosen
