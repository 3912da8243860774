"""Compares what both sides make of random operators: `python -m tests.conformance.small`."""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterable, Iterator

from tests.conformance.small.compare import Verdict, verdicts
from tests.conformance.small.inputs import SmallInput
from tests.conformance.small.judge import fault_of, refused_on_purpose, shrunk
from tests.conformance.small.random_entries import random_input

COUNT = 1000


def arguments() -> argparse.ArgumentParser:
    """The command line of this program."""
    parser = argparse.ArgumentParser(prog="python -m tests.conformance.small", description=__doc__)
    parser.add_argument("--start", type=int, default=0, help="the number of the first input (default: 0)")
    parser.add_argument("--count", type=int, default=COUNT, help=f"how many inputs (default: {COUNT})")
    parser.add_argument("--as-drawn", action="store_true", help="do not look for a smaller input with the same fault")
    parser.add_argument("--release", default="pytorch", help="a release such as 2.15.0 (default: the installed one)")
    return parser


def faults(numbers: Iterable[int], kinds: Counter[str], release: str = "pytorch") -> Iterator[tuple[Verdict, str]]:
    """The outcomes with a fault among the inputs of those numbers; `kinds` counts how all of them ended."""
    on_purpose = refused_on_purpose()
    for outcome in verdicts(map(random_input, numbers), release):
        fault = fault_of(outcome, on_purpose)
        if fault:
            kinds["differ"] += 1
            yield outcome, fault
        elif outcome.refused:
            kinds["are refused by both sides"] += 1
        else:
            kinds["are refused on purpose" if outcome.refused_here else "are the same"] += 1


def smallest(given: SmallInput, fault: str, release: str) -> Verdict:
    """The outcome of the smallest input with the same fault."""
    on_purpose = refused_on_purpose()
    small = shrunk(given, fault, lambda candidate: fault_of(next(verdicts([candidate], release)), on_purpose))
    return next(verdicts([small], release))


def report(outcome: Verdict, fault: str) -> str:
    """What to show of an outcome with a fault: the input, what each side says, and the first difference."""
    given = outcome.given
    texts = (given.native, given.derivatives, given.deprecated if given.deprecated != "[]\n" else "")
    shown = [f"input {given.name}, flags `{given.flags}`: {fault}", *[text.rstrip() for text in texts if text]]
    if outcome.refused:
        shown.append("the reference says:\n" + outcome.refused[-500:].rstrip())
    if outcome.refused_here:
        shown.append("Opwright says:\n" + outcome.refused_here[-1500:].rstrip())
    return "\n\n".join([*shown, outcome.first_difference])


def main() -> int:
    """Run the program; the exit status is 1 where any input has a fault."""
    options = arguments().parse_args()
    kinds: Counter[str] = Counter()
    for outcome, fault in faults(range(options.start, options.start + options.count), kinds, options.release):
        shown = outcome if options.as_drawn else smallest(outcome.given, fault, options.release)
        print(report(shown, fault), end="\n\n", flush=True)
    total = sum(kinds.values())
    print(f"of {total} inputs " + ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items())))
    return 1 if kinds["differ"] else 0


if __name__ == "__main__":
    sys.exit(main())
