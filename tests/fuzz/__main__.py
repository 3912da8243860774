"""The program behind `make fuzz`: loads thousands of damaged inputs and fails on any traceback, hang or wild place."""

from __future__ import annotations

import argparse
import multiprocessing
import os
import resource
import sys
from collections.abc import Iterator
from typing import Final

from tests.fuzz.run import Finding, fuzz
from tests.fuzz.targets import Target, targets

WORST = 5
AT_ONCE: Final = 500

#: The memory of a process, beyond which a text is a finding.
MOST_BYTES: Final = 3 << 30

#: The targets that take a millisecond or less for a text.
QUICK: Final = ("provenance", "dump", "kernel index", "pyproject.toml")

#: The targets, which processes take over from the one that made them.
_chosen: Final[list[Target]] = []


def _fuzz_some(numbers: range) -> tuple[int, list[Finding]]:
    """How many texts of some numbers were loaded, and what was found; the targets take turns."""
    findings = [fuzz(_chosen[number % len(_chosen)], number // len(_chosen)) for number in numbers]
    return len(numbers), [finding for finding in findings if finding is not None]


def _limit_memory() -> None:
    """Let a process raise MemoryError, which is a finding, before the machine runs out of memory."""
    resource.setrlimit(resource.RLIMIT_AS, (MOST_BYTES, MOST_BYTES))


def _all_found(first: int, count: int, processes: int) -> Iterator[tuple[int, list[Finding]]]:
    """What each few hundred texts gave, as processes come to an end with them."""
    parts = [range(start, min(start + AT_ONCE, first + count)) for start in range(first, first + count, AT_ONCE)]
    if processes == 1:
        yield from map(_fuzz_some, parts)
        return
    # A process that has loaded thousands of inputs remembers their types: another takes over now and then.
    with multiprocessing.get_context("fork").Pool(processes, _limit_memory, maxtasksperchild=10) as pool:
        yield from pool.imap_unordered(_fuzz_some, parts)


def main() -> int:
    """Run the program; the exit status is 1 where any text brought a loader down."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--count", type=int, default=100_000, help="how many texts are loaded (default: 100,000)")
    parser.add_argument("--first", type=int, default=0, help="the first seed (default: 0)")
    parser.add_argument("--only", default="", help="only the input whose name starts so")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1, help="how many at once (default: all)")
    parser.add_argument(
        "--quick", type=int, default=0, help=f"how many more of each of {', '.join(QUICK)} (default: 0)"
    )
    options = parser.parse_args()
    chosen = [target for target in targets() if target.name.startswith(options.only)]
    parts = [(chosen, options.count)]
    parts += [([target], options.quick) for target in chosen if target.name in QUICK and options.quick]
    loaded = 0
    findings: list[Finding] = []
    for _chosen[:], most in parts:
        for count, batch in _all_found(options.first * len(_chosen), most, options.processes):
            loaded += count
            findings += batch
            if loaded % 10_000 < AT_ONCE:
                print(f"{loaded} texts, {len(findings)} findings", flush=True)
    for finding in findings[:WORST]:
        print(f"\n{finding.target}, seed {finding.seed}:\n{finding.text}\n{finding.report}")
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    seconds = sum(usage.ru_utime for usage in used)
    megabytes = max(usage.ru_maxrss for usage in used) // 1024
    print(f"{seconds:.0f} s of processor time, at most {megabytes} MB in a process")
    print(f"{loaded} texts loaded, {len(findings)} tracebacks, hangs or places outside the file")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
