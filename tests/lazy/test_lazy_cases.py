"""Files with lazy tensors have the reference's bytes, or are refused where it refuses them, with places of mistakes."""

from __future__ import annotations

import pytest

from opwright.dialects.lazy import codes as dialect_codes
from opwright.emit.lazy import codes
from tests.backend.outcomes import Outcome, reference_outcomes, run_tasks
from tests.backend.stub_cases import StubCase, expected
from tests.lazy.lazy_cases import load_cases

CASES = load_cases()

#: What no case can show: only other operators than PyTorch's have it, or only runs that are not tolerant report it.
ELSEWHERE = {"E1602", "E1604", "E1616", "E1617"}

#: One process runs all cases: another one would run the reference on each of them again.
pytestmark = pytest.mark.xdist_group("lazy_cases")


@pytest.fixture(scope="module")
def references() -> dict[str, Outcome]:
    """The reference's outcome of each case."""
    return reference_outcomes([case.task for case in CASES])


@pytest.fixture(scope="module")
def outcomes() -> dict[str, Outcome]:
    """Opwright's outcome of each case."""
    tasks = [case.task for case in CASES]
    return {task.name: outcome for task, outcome in zip(tasks, run_tasks("opwright", tasks), strict=True)}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_reference_says_what_the_case_says(case: StubCase, references: dict[str, Outcome]) -> None:
    """It refuses the files that are marked so, with the words that stand there, and accepts the others."""
    reference = references[case.name]
    assert (reference.status != 0) == (case.refusal is not None), reference.said
    assert (case.refusal or "") in reference.said


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_files_have_the_same_bytes(
    case: StubCase, references: dict[str, Outcome], outcomes: dict[str, Outcome]
) -> None:
    """What the reference accepts has its bytes, and what it refuses leaves no file behind."""
    ours = outcomes[case.name]
    refused = case.refusal is not None
    assert ours.status == (1 if refused else 0), ours.said
    assert ours.files == ({} if refused else references[case.name].files)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_mistakes_are_at_their_places(case: StubCase, outcomes: dict[str, Outcome]) -> None:
    """What is found in a file is what its comments mark, to the column; whatever is refused has an error."""
    ours = outcomes[case.name]
    assert expected(ours.faults) == case.faults, ours.said
    assert case.is_refused_here == (ours.status != 0)


def test_every_code_has_a_case() -> None:
    """Each code of lazy tensors is marked in a case, or tested elsewhere."""
    registered = {code for module in (codes, dialect_codes) for code in vars(module).values() if is_code(code)}
    marked = {code for case in CASES for *_, code in case.faults}
    assert registered - marked == ELSEWHERE


def is_code(value: object) -> bool:
    """Whether a value of a module is a code of lazy tensors."""
    return isinstance(value, str) and value[1:3] == "16" and len(value) == 5
