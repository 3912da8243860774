"""The program behind `make hostile`: puts thousands of hostile values into all fields, and fails if one is code."""

from __future__ import annotations

import argparse
import multiprocessing
import os
import sys
import time
from typing import Final

from tests.hostile.check import check_value
from tests.hostile.run import Finding

WORST: Final = 10
AT_ONCE: Final = 100


def _check_some(numbers: range) -> tuple[int, int, list[Finding]]:
    """How many values there were, how many of them a run took, and what was found."""
    results = [check_value(number) for number in numbers]
    return (
        len(numbers),
        sum([taken for taken, _ in results]),
        [finding for _, finding in results if finding is not None],
    )


def main() -> int:
    """Run the program; the exit status is 1 if a value became code or ended in a traceback."""
    parser = argparse.ArgumentParser(prog="python -m tests.hostile", description=__doc__)
    parser.add_argument("--count", type=int, default=20_000, help="how many values are tried (default: 20,000)")
    parser.add_argument("--first", type=int, default=0, help="the first number (default: 0)")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1, help="how many at once (default: all)")
    options = parser.parse_args()
    started = time.perf_counter()
    end = options.first + options.count
    parts = [range(start, min(start + AT_ONCE, end)) for start in range(options.first, end, AT_ONCE)]
    tried, taken = 0, 0
    findings: list[Finding] = []
    # A process that has loaded thousands of inputs remembers their types: another takes over now and then.
    with multiprocessing.get_context("fork").Pool(options.processes, maxtasksperchild=10) as pool:
        for some, accepted, found in pool.imap_unordered(_check_some, parts):
            tried += some
            taken += accepted
            findings += found
    for finding in findings[:WORST]:
        print(f"\n{finding.document}, {finding.place}: {finding.value!r}\n{finding.report}")
    seconds = time.perf_counter() - started
    told = f"{taken} taken, {tried - taken} refused with a diagnostic"
    print(f"{tried} hostile values in {seconds:.0f} s: {told}, {len(findings)} as code or with a traceback")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
