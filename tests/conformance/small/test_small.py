"""Odd entries are taken as the reference takes them, and what one side alone refuses is in the guide."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

import pytest

from tests.conformance.small.__main__ import COUNT, faults, report
from tests.conformance.small.compare import Ending, Verdict, verdicts
from tests.conformance.small.inputs import PER_OPERATOR, PROGRAMS, SmallInput, case_programs, load_cases, small_input
from tests.conformance.small.judge import fault_of, refused_on_purpose, shrunk
from tests.dialects.cases import FOLDER as ENTRY_CASES
from tests.dialects.cases import load_cases as load_marked
from tests.dialects.cases import without_marks
from tests.dialects.test_derivative_cases import FOLDER as DERIVATIVE_CASES

# The reference runs once for all cases, so they stay in one process.
pytestmark = pytest.mark.xdist_group("small_conformance")

ODD = load_cases("odd.yaml")
REFUSED = load_cases("refused.yaml")
ACCEPTED = load_cases("accepted.yaml")


@pytest.fixture(scope="module")
def taken_verdicts() -> dict[str, Verdict]:
    """What came out for each odd input, by title, and for each that the reference refuses, by kind."""
    inputs = [small_input(case["title"], case) for case in ODD] + [small_input(case["kind"], case) for case in ACCEPTED]
    return {verdict.given.name: verdict for verdict in verdicts(inputs)}


@pytest.fixture(scope="module")
def refused_verdicts() -> dict[str, Verdict]:
    """What came out for each input that Opwright refuses, by kind."""
    return {verdict.given.name: verdict for verdict in verdicts(small_input(case["kind"], case) for case in REFUSED)}


@pytest.mark.parametrize("title", [case["title"] for case in ODD])
def test_an_odd_entry_has_the_same_files(title: str, taken_verdicts: dict[str, Verdict]) -> None:
    """Both sides take it and write the same bytes."""
    outcome = taken_verdicts[title]
    assert not outcome.refused, outcome.refused
    assert not outcome.refused_here, outcome.refused_here
    assert not outcome.different, outcome.first_difference


@pytest.mark.thorough
@pytest.mark.parametrize("case", REFUSED, ids=lambda case: case["kind"])
def test_what_opwright_refuses_on_purpose(case: dict[str, str], refused_verdicts: dict[str, Verdict]) -> None:
    """The programs of the reference that the case names take it, and ours refuse it with the code of its kind."""
    outcome = refused_verdicts[case["kind"]]
    assert not outcome.crashed, outcome.refused_here
    alone = [name for name in PROGRAMS if outcome.opwright[name].status and not outcome.reference[name].status]
    assert alone == case_programs(case)
    assert all(f"error[{case['code']}]" in outcome.opwright[name].said for name in alone)


@pytest.mark.parametrize("case", ACCEPTED, ids=lambda case: case["kind"])
def test_what_opwright_accepts_on_purpose(case: dict[str, str], taken_verdicts: dict[str, Verdict]) -> None:
    """The programs of the reference that the case names refuse it with the message of the case; ours take it."""
    outcome = taken_verdicts[case["kind"]]
    assert not outcome.refused_here, outcome.refused_here
    refused = [name for name in PROGRAMS if outcome.reference[name].status]
    assert refused == case_programs(case)
    assert all(case["message"] in outcome.reference[name].said for name in refused)


@pytest.mark.parametrize(
    "numbers",
    [
        range(4),
        pytest.param(range(4, 24), marks=pytest.mark.thorough),
        pytest.param(range(COUNT), marks=pytest.mark.slow),
    ],
    ids=len,
)
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
        assert fault_of(outcome, frozenset([("aten", "E0301")])) == ""
        assert fault_of(outcome, frozenset([("python", "E0301")])) == fault


@pytest.mark.thorough
def test_the_guide_is_complete() -> None:
    """Of all marked cases, what a program of the reference takes and ours refuses has a code that the guide lists."""
    listed = refused_on_purpose()
    missing = []
    for outcome in verdicts(marked_inputs()):
        for name, ending in outcome.opwright.items():
            codes = set(re.findall(r"error\[(E\d+)\]", ending.said))
            if ending.status and not outcome.reference[name].status and not listed & {(name, code) for code in codes}:
                missing.append(f"{outcome.given.name}: {name} {sorted(codes)}")
    assert not missing, "\n".join(missing)


def marked_inputs() -> Iterator[SmallInput]:
    """The cases of the dialects whose comments mark an error, as inputs of all programs."""
    for path in sorted(ENTRY_CASES.glob("*.yaml")):
        field = "tags" if path.name == "tags_file.yaml" else "native"
        for case in load_marked(path.name):
            if case.has_errors:
                yield SmallInput(case.name, **{field: without_marks(case.text) + "\n"})
    functions = re.split(r"(?m)^(?=- func: )", (DERIVATIVE_CASES / "native_functions.yaml").read_text("utf-8"))[1:]
    for path in sorted(DERIVATIVE_CASES.glob("*.yaml")):
        for case in load_marked(path.name, DERIVATIVE_CASES):
            operations = set(re.findall(r"(?m)^- name: (\w+?)_?\W", case.text))
            if case.has_errors and operations:
                native = [text for text in functions if re.findall(r"func: (\w+?)_?\W", text)[0] in operations]
                yield SmallInput(case.name, native="".join(native), derivatives=without_marks(case.text) + "\n")
