"""Differentiates random operators twice, with both interfaces: `python -m tests.second_gradients --count 500`."""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
from pathlib import Path

from tests.compile.compiler import compiler_program
from tests.second_gradients.comparison import differences
from tests.second_gradients.drawing import DrawnOperator
from tests.second_gradients.library import built


def main(arguments: list[str] | None = None) -> int:
    """Run the program; the status is 1 if a gradient is wrong, or one is refused without need."""
    parser = argparse.ArgumentParser(prog="python -m tests.second_gradients", description=__doc__)
    parser.add_argument("--count", type=int, default=500, help="operators, each with both interfaces")
    parser.add_argument("--operators", type=int, default=100, help="operators in each compiled file")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(arguments)
    program = compiler_program()
    if program is None:
        print("second-gradients: left out, this machine has no C++ compiler")
        return 0
    chance = random.Random(options.seed)
    drawn = [DrawnOperator(number, chance) for number in range(options.count)]
    found: list[str] = []
    with tempfile.TemporaryDirectory() as name:
        for start in range(0, len(drawn), options.operators):
            operators = drawn[start : start + options.operators]
            for abi in ("stable", "native"):
                library = f"drawn_{abi}_{start}"
                found += differences(operators, built(operators, abi, library, Path(name) / library, program))
                print(f"{start + len(operators):,} operators, {abi}: {len(found)} differences", flush=True)
    refused = sum(bool(operator.unknown) for operator in drawn)
    saving = sum(bool(operator.saved) for operator in drawn)
    print(
        f"{len(drawn):,} operators, {saving:,} of which save results, with both interfaces: second gradients of "
        f"{refused:,} raise an error by name, of {len(drawn) - refused:,} are right; {len(found)} differences"
    )
    print("\n".join(found[:20]))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
