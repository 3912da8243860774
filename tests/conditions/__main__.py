"""Compares conditions in C++ and in traces with Python's arithmetic: `python -m tests.conditions --count 100000`."""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from tests.compile.compiler import compiler_program
from tests.conditions.comparison import compare, ways
from tests.conditions.library import built, operators_that_load


def main(arguments: list[str] | None = None) -> int:
    """Run the program; the status is 1 if a way to call differs from Python's arithmetic."""
    parser = argparse.ArgumentParser(prog="python -m tests.conditions", description=__doc__)
    parser.add_argument("--count", type=int, default=100_000, help="calls, each of one condition")
    parser.add_argument("--operators", type=int, default=120, help="conditions in each compiled file")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(arguments)
    program = compiler_program()
    if program is None:
        print("conditions: left out, this machine has no C++ compiler")
        return 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        operators = operators_that_load(options.operators, options.seed, folder)
        native = built(operators, "native", folder, program)
        stable = built([operator for operator in operators if not operator.has_scalar], "stable", folder, program)
        comparison = compare(operators, list(ways(native, stable)), options.count, options.seed)
    print(
        f"{comparison.calls:,} calls of {len(operators)} operators, {comparison.refused:,} of them refused and "
        f"{comparison.failed:,} not computed, in {len(list(ways(native, stable)))} ways: "
        f"{len(comparison.differences)} differences"
    )
    for difference in comparison.differences[:20]:
        print(difference)
    return 1 if comparison.differences else 0


if __name__ == "__main__":
    sys.exit(main())
