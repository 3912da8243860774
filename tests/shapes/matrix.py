"""The rows of a library that `opwright check` accepts, and which code refuses each of the other pairs."""

from __future__ import annotations

import multiprocessing
from collections import Counter
from collections.abc import Mapping
from heapq import heapify, heappop, heappush
from pathlib import Path
from random import Random
from typing import Final, NamedTuple

import opwright
from opwright.source.diagnostic import Severity
from opwright.source.text import SourceFile
from opwright.tools.check.checking import CheckRequest, check
from tests.shapes.entries import FACTORS, HELPERS, Entries, entries_of
from tests.shapes.pairs import Pair, Row, Taste, all_pairs, pairs_of, rows_with

__all__ = ["HEADS", "Matrix", "make_matrix", "write_library"]

#: The head of the library file for each C++ interface.
HEADS: Final = {
    "native": "derivatives: derivatives.yaml\nderivative_includes: [helpers.h]\nc_shims: [cpu]\n",
    "stable": "abi: stable\n",
}

#: How often pairs that were refused are tried again, with more and more ordinary values beside them.
_ORDINARY: Final = (0.0, 0.2, 0.4, 0.6)

#: What stands before the message of a check that ended with a traceback.
TRACEBACK: Final = "traceback"

#: How many rows one library has while they are checked.
_BATCH: Final = 300


class Matrix(NamedTuple):
    """The rows that were accepted, by number, and the code that refuses each pair that no row has.

    `tried` are the rows that were checked. `crashes` has the error of each that ended the check with a traceback.
    """

    rows: Mapping[int, Row]
    refused: Mapping[Pair, str]
    tried: Mapping[int, Row]
    crashes: Mapping[int, str]

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


def _refusals_of_batch(batch: tuple[Path, str, Mapping[int, Row]]) -> dict[int, str]:
    folder, head, rows = batch
    return _refusals_and_tracebacks(folder, head, {number: entries_of(number, row) for number, row in rows.items()})


def _refusals_and_tracebacks(folder: Path, head: str, entries: Mapping[int, Entries]) -> dict[int, str]:
    """The same, with the last line of the traceback in place of the code where the check ends with one."""
    try:
        return refusals(folder, head, entries)
    except Exception as error:
        if len(entries) == 1:
            return dict.fromkeys(entries, f"{TRACEBACK} {type(error).__name__}: {error}")
        halves = list(entries)[::2], list(entries)[1::2]
        return {
            number: code
            for half in halves
            for number, code in _refusals_and_tracebacks(
                folder, head, {number: entries[number] for number in half}
            ).items()
        }


class _Attempts:
    """The rows that were tried, and what became of them."""

    def __init__(self, folder: Path, head: str, processes: int) -> None:
        self._folder: Final = folder
        self._head: Final = head
        self._processes: Final = processes
        self.missing: Final = dict.fromkeys(all_pairs(FACTORS))
        self.accepted: Final[dict[int, Row]] = {}
        self.codes: Final[dict[Pair, str]] = {}
        self.tried: Final[dict[int, Row]] = {}
        self.crashes: Final[dict[int, str]] = {}

    def add(self, rows: list[Row]) -> set[Pair]:
        """Check rows; gives the pairs of those that are accepted."""
        numbered = dict(enumerate(rows, len(self.tried)))
        self.tried.update(numbered)
        refused = self._check(numbered)
        self.crashes.update({number: code for number, code in refused.items() if code.startswith(TRACEBACK)})
        covered: set[Pair] = set()
        for number, row in numbered.items():
            if number in refused:
                self.codes.update(dict.fromkeys(pairs_of(row), refused[number]))
            else:
                self.accepted[number] = row
                covered.update(pairs_of(row))
        for pair in covered:
            self.missing.pop(pair, None)
        return covered

    def _check(self, rows: Mapping[int, Row]) -> dict[int, str]:
        numbers = list(rows)
        batches = [
            (
                self._folder / str(first),
                self._head,
                {number: rows[number] for number in numbers[first : first + _BATCH]},
            )
            for first in range(0, len(numbers), _BATCH)
        ]
        refused: dict[int, str] = {}
        with multiprocessing.get_context("fork").Pool(self._processes) as pool:
            for own in pool.imap_unordered(_refusals_of_batch, batches):
                refused.update(own)
        return refused


def make_matrix(folder: Path, head: str, seed: int = 0, processes: int = 1) -> Matrix:
    """Few rows with every pair that some row with it is accepted for.

    First each pair is tried with ordinary values beside it, which shows the pairs that are refused for themselves.
    Then those that are accepted are put into rows with many of them, and those that were refused are tried with other
    values.
    """
    random = Random(seed)
    attempts = _Attempts(folder, head, processes)
    left = dict.fromkeys(attempts.missing)
    attempts.add(rows_with(left, FACTORS, Taste(random, ordinary=1.0)))
    odd = frozenset(attempts.missing)
    for share in _ORDINARY:
        taste = Taste(random, share, odd)
        dense = dict.fromkeys([pair for pair in left if pair not in odd])
        for pair in attempts.add(rows_with(dense, FACTORS, taste) + rows_with(attempts.missing, FACTORS, taste)):
            left.pop(pair, None)
    refused = {pair: attempts.codes[pair] for pair in attempts.missing}
    return Matrix(_needed(attempts.accepted), refused, attempts.tried, attempts.crashes)


def _needed(rows: Mapping[int, Row]) -> dict[int, Row]:
    """Few of the rows with all of their pairs: always the one that has the most that are missing."""
    left = {number: set(pairs_of(row)) for number, row in rows.items()}
    most = [(-len(pairs), number) for number, pairs in left.items()]
    heapify(most)
    covered: set[Pair] = set()
    chosen: dict[int, Row] = {}
    while most:
        count, number = heappop(most)
        left[number] -= covered
        if len(left[number]) < -count:
            # What rows that were chosen since have is not missing anymore.
            if left[number]:
                heappush(most, (-len(left[number]), number))
            continue
        chosen[number] = rows[number]
        covered |= left[number]
    return chosen
