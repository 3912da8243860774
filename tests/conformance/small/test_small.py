"""Odd entries are taken as the reference takes them, and what is refused on purpose stands in the documentation."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from tests.conformance.inputs import ROOT
from tests.conformance.small.__main__ import COUNT, faults, report
from tests.conformance.small.compare import Ending, Verdict, verdicts
from tests.conformance.small.inputs import PER_OPERATOR, SmallInput, load_cases, small_input
from tests.conformance.small.judge import fault_of, shrunk

# The reference runs once for all cases, so they stay in one process.
pytestmark = pytest.mark.xdist_group("small_conformance")

ODD = load_cases("odd.yaml")
REFUSED = load_cases("refused.yaml")
GUIDE = ROOT / "docs" / "from-torchgen.md"
HEADING = "## What Opwright refuses"


@pytest.fixture(scope="module")
def odd_verdicts() -> dict[str, Verdict]:
    """What came out for each odd input, by title."""
    return {verdict.given.name: verdict for verdict in verdicts(small_input(case["title"], case) for case in ODD)}


@pytest.fixture(scope="module")
def refused_verdicts() -> dict[str, Verdict]:
    """What came out for each input that Opwright refuses, by kind."""
    return {verdict.given.name: verdict for verdict in verdicts(small_input(case["kind"], case) for case in REFUSED)}


@pytest.mark.parametrize("title", [case["title"] for case in ODD])
def test_an_odd_entry_has_the_same_files(title: str, odd_verdicts: dict[str, Verdict]) -> None:
    """Both sides take it and write the same bytes."""
    outcome = odd_verdicts[title]
    assert not outcome.refused, outcome.refused
    assert not outcome.refused_here, outcome.refused_here
    assert not outcome.different, outcome.first_difference


@pytest.mark.parametrize("case", REFUSED, ids=lambda case: case["kind"])
def test_what_is_refused_on_purpose_is_taken_by_the_reference(
    case: dict[str, str], refused_verdicts: dict[str, Verdict]
) -> None:
    """Every program of the reference takes it; ours refuse it with the code of its kind."""
    outcome = refused_verdicts[case["kind"]]
    assert not outcome.refused, outcome.refused
    assert f"error[{case['code']}]" in outcome.refused_here
    assert not outcome.crashed, outcome.refused_here


@pytest.mark.parametrize("numbers", [range(12), pytest.param(range(COUNT), marks=pytest.mark.slow)], ids=len)
def test_random_operators_have_the_same_files(numbers: range) -> None:
    """What both sides take has the same bytes; what one side alone refuses is on the list of what is refused."""
    files = [report(outcome, fault) for outcome, fault in faults(numbers, Counter())]
    assert not files, "\n\n".join(files)


def test_a_fault_is_found_and_its_input_made_small() -> None:
    """An input with a fault loses all that has no part in it."""
    given = SmallInput("1", "- func: a() -> ()\n  tags: core\n- func: b() -> ()\n  tags: core\n", flags="--rocm")
    small = shrunk(given, "b", lambda candidate: "b" if "func: b" in candidate.native else "")
    assert (small.native, small.flags) == ("- func: b() -> ()\n", PER_OPERATOR)


@pytest.mark.parametrize(
    ("reference", "opwright", "different", "fault"),
    [
        (0, 0, (), ""),
        (0, 0, ("out/a.h",), "different files"),
        (1, 1, (), ""),
        (1, 0, (), "refused by the reference alone"),
        (0, 1, (), "refused by Opwright alone: E0301"),
        (0, 70, (), "a crash"),
    ],
)
def test_outcomes_that_are_faults(reference: int, opwright: int, different: tuple[str, ...], fault: str) -> None:
    """Only what both do, or what is refused on purpose, passes."""
    ours = {"aten": Ending(opwright, "error[E0301]: unknown field" if opwright else "")}
    outcome = Verdict(SmallInput("1"), {"aten": Ending(reference, "refused" * reference)}, ours, different, "")
    assert fault_of(outcome, frozenset()) == fault
    if fault.endswith("E0301"):
        assert fault_of(outcome, frozenset(("E0301",))) == ""


def test_the_guide_lists_what_is_refused() -> None:
    """The list in the guide for those who know torchgen is the list of cases, in the same order."""
    assert listed_kinds(GUIDE) == [(case["kind"], case["code"]) for case in REFUSED]


def listed_kinds(page: Path) -> list[tuple[str, str]]:
    """The kinds that a page lists, each with its code."""
    section = page.read_text(encoding="utf-8").partition(HEADING)[2].partition("\n## ")[0]
    items = [" ".join(item.split()) for item in re.findall(r"(?ms)^- (.*?)(?=^- |^$)", section)]
    return [(kind, code) for kind, code in (re.fullmatch(r"(.*) \((E\d+)\)[.;]?", item).groups() for item in items)]  # type: ignore[union-attr]
