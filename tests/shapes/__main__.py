"""The program behind `make shapes`: compiles what `opwright check` accepts of all pairs of what an entry can say."""

from __future__ import annotations

import argparse
import os
import re
import sys
import time
from collections import Counter
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from tests.compile.compiler import compiler_program
from tests.shapes.compilation import Compilation, compile_rows
from tests.shapes.entries import FACTORS, entries_of
from tests.shapes.matrix import HEADS, Matrix, make_matrix
from tests.shapes.pairs import all_pairs, pairs_of

WORST: Final = 30


def main() -> int:
    """Run the program; the exit status is 1 if there is code that does not compile, or a check ended in a traceback."""
    parser = argparse.ArgumentParser(prog="python -m tests.shapes", description=__doc__)
    parser.add_argument("--count", type=int, help="how many rows are compiled at most (default: all)")
    parser.add_argument("--seed", type=int, default=0, help="which rows are made (default: 0)")
    parser.add_argument("--abi", choices=HEADS, action="append", help="a C++ interface (default: both)")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1, help="how many at once (default: all)")
    options = parser.parse_args()
    program = compiler_program()
    if program is None:
        print("there is no C++ compiler", file=sys.stderr)
        return 1
    failed = False
    for abi in options.abi or HEADS:
        with TemporaryDirectory(prefix="opwright-shapes-") as name:
            folder = Path(name)
            started = time.perf_counter()
            matrix = make_matrix(folder / "checked", HEADS[abi], options.seed, options.processes)
            checked = time.perf_counter()
            rows = dict(islice(matrix.rows.items(), options.count))
            compilation = compile_rows(program, folder / "compiled", abi, rows, options.processes)
            ended = time.perf_counter()
        pairs = {pair for row in rows.values() for pair in pairs_of(row)}
        print(
            f"{abi}: {len(matrix.tried)} rows tried, {matrix.covered} of {len(all_pairs(FACTORS))} pairs accepted in "
            f"{checked - started:.0f} s; {len(rows)} of {len(matrix.rows)} rows, with {len(pairs)} pairs, compiled in "
            f"{compilation.units} translation units and {ended - checked:.0f} s; "
            f"{len(compilation.faults)} do not compile, {len(matrix.crashes)} end the check with a traceback"
        )
        _report(matrix, compilation)
        failed = failed or bool(compilation.faults or matrix.crashes)
    return 1 if failed else 0


def _report(matrix: Matrix, compilation: Compilation) -> None:
    """Print the codes that refuse pairs, and rows that are not compiled: two of each cause."""
    print(matrix.table())
    causes = Counter(_cause(fault.error) for fault in compilation.faults)
    for cause, count in causes.most_common():
        print(f"\n{count} x {cause}")
        for fault in [fault for fault in compilation.faults if _cause(fault.error) == cause][:2]:
            print(fault.error)
            if fault.number is not None:
                own = entries_of(fault.number, matrix.rows[fault.number])
                print(own.entries + own.derivative)
    for number, text in islice(matrix.crashes.items(), WORST):
        print(f"\n{text}\n{entries_of(number, matrix.tried[number]).entries}")


def _cause(error: str) -> str:
    """An error without its place and its numbers."""
    return re.sub(r"\d+", "N", error.partition(": ")[2])


if __name__ == "__main__":
    sys.exit(main())
