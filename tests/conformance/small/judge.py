"""What an outcome says about Opwright, and the smallest input that says the same."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace

from tests.conformance.small.compare import Verdict
from tests.conformance.small.inputs import PER_OPERATOR, SmallInput, case_programs, load_cases

#: Programs with the codes that they refuse inputs with.
Refusals = frozenset[tuple[str, str]]

Judge = Callable[[SmallInput], str]


def fault_of(outcome: Verdict, on_purpose: Refusals) -> str:
    """What is wrong with an outcome, in a word or two; empty where both sides do the same, or differ on purpose."""
    if outcome.crashed:
        return "a crash"
    refusals = {
        (program, code)
        for program, ending in outcome.opwright.items()
        if ending.status
        for code in re.findall(r"error\[(E\d+)\]", ending.said)
    }
    if outcome.refused:
        is_listed = any(case["message"] in outcome.refused for case in load_cases("accepted.yaml"))
        return "" if refusals or is_listed else "refused by the reference alone"
    if refusals:
        codes = ", ".join(sorted({code for _, code in refusals}))
        return "" if refusals <= on_purpose else f"refused by Opwright alone: {codes}"
    return "different files" if outcome.different else ""


def refused_on_purpose() -> Refusals:
    """What the guide lists as refused by Opwright alone."""
    return frozenset((program, case["code"]) for case in load_cases("refused.yaml") for program in case_programs(case))


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
