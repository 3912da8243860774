"""What an outcome says about Opwright, and the smallest input that says the same."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace

from tests.conformance.small.compare import Verdict
from tests.conformance.small.inputs import PER_OPERATOR, SmallInput, load_cases

#: What the reference says of the inputs that the guide lists as taken by Opwright alone.
_TAKEN = re.compile(r"unrecognized type Dimname|Expected dtype argument for cumulative out op")

Judge = Callable[[SmallInput], str]


def fault_of(outcome: Verdict, refused_on_purpose: frozenset[str]) -> str:
    """What is wrong with an outcome, in a word or two; empty where both sides do the same, or differ on purpose."""
    if outcome.crashed:
        return "a crash"
    codes = set(re.findall(r"error\[(E\d+)\]", outcome.refused_here))
    if outcome.refused:
        return "" if codes or _TAKEN.search(outcome.refused) else "refused by the reference alone"
    if codes:
        return "" if codes <= refused_on_purpose else f"refused by Opwright alone: {', '.join(sorted(codes))}"
    return "different files" if outcome.different else ""


def refused_on_purpose() -> frozenset[str]:
    """The codes of the kinds of entries that the guide lists as refused."""
    return frozenset(case["code"] for case in load_cases("refused.yaml"))


def shrunk(given: SmallInput, fault: str, judge: Judge) -> SmallInput:
    """The input with as little in it as still has the same fault."""
    smaller = given
    while True:
        for candidate in reductions(smaller):
            if judge(candidate) == fault:
                smaller = candidate
                break
        else:
            return smaller


def reductions(given: SmallInput) -> Iterator[SmallInput]:
    """The input without one of its entries, or without one line of an entry, or with the usual flags."""
    if given.flags != PER_OPERATOR:
        yield replace(given, flags=PER_OPERATOR)
    for field in ("deprecated", "derivatives", "native"):
        entries = re.split(r"(?m)^(?=- )", getattr(given, field))
        for place in range(len(entries)):
            rest = "".join(entries[:place] + entries[place + 1 :])
            if entries[place].startswith("- "):
                yield replace(given, **{field: rest or ("[]\n" if field == "deprecated" else "")})
    lines = given.native.splitlines(keepends=True)
    for place, line in enumerate(lines):
        if line.startswith("  "):
            yield replace(given, native="".join(lines[:place] + lines[place + 1 :]))
