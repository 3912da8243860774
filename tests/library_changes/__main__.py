"""Runs saved programs of random libraries with changed ones: `python -m tests.library_changes --count 300`."""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
from collections import Counter
from pathlib import Path

from opwright.tools.diff.records import Level
from tests.compile.compiler import compiler_program
from tests.library_changes.comparison import Judged, drawn_pairs, judged


def main(arguments: list[str] | None = None) -> int:
    """Run the program; the status is 1 if a change that is called compatible breaks a program."""
    parser = argparse.ArgumentParser(prog="python -m tests.library_changes", description=__doc__)
    parser.add_argument("--count", type=int, default=300, help="changes")
    parser.add_argument("--operators", type=int, default=75, help="operators in each compiled library")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(arguments)
    program = compiler_program()
    if program is None:
        print("changes: left out, this machine has no C++ compiler")
        return 0
    chance = random.Random(options.seed)
    found: list[Judged] = []
    with tempfile.TemporaryDirectory() as name:
        pairs = drawn_pairs(options.count, chance, Path(name))
        for start in range(0, len(pairs), options.operators):
            batch = pairs[start : start + options.operators]
            found += judged(batch, chance, Path(name) / f"batch_{start}", program)
            print(f"{len(found):,} changes: {sum(each.is_wrong for each in found)} wrong verdicts", flush=True)
    print("\n".join([str(each) for each in found if each.is_wrong][:20]))
    levels = Counter(each.pair.level for each in found)
    same = [each for each in found if each.pair.level is Level.major and not each.faults]
    print(
        f"{len(found):,} changes, {sum(each.programs for each in found):,} saved programs: "
        f"{levels[Level.patch]} patch, {levels[Level.minor]} minor, {levels[Level.major]} major; "
        f"{sum(each.is_wrong for each in found)} called compatible that fail or differ; of those called major all "
        f"programs of {len(same)} ran and gave the same: "
        f"{', '.join([f'{change} {count}' for change, count in Counter(each.pair.change for each in same).items()])}"
    )
    return 1 if any(each.is_wrong for each in found) else 0


if __name__ == "__main__":
    sys.exit(main())
