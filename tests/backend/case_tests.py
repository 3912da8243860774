"""What all cases of the programs for backends share: both sides run them once, and each test compares a case.

A test module with cases in `CASES` imports the names of `__all__`.
"""

from __future__ import annotations

import pytest

from tests.backend.outcomes import Outcome, reference_outcomes, run_tasks
from tests.backend.sides import WHOLE
from tests.backend.stub_cases import StubCase, expected

__all__ = [
    "outcomes",
    "pytest_generate_tests",
    "references",
    "test_files_have_the_same_bytes",
    "test_mistakes_are_at_their_places",
    "test_operators_that_no_file_names_add_nothing",
    "test_the_reference_says_what_the_case_says",
]

#: What begins the answer to a wrong command.
USAGE = "--help` lists the arguments"


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run each test of a case for all cases of the test module."""
    if "case" in metafunc.fixturenames:
        metafunc.parametrize("case", metafunc.module.CASES, ids=lambda case: case.name)


@pytest.fixture(scope="module")
def references(request: pytest.FixtureRequest) -> dict[str, Outcome]:
    """The reference's outcome of each case."""
    return reference_outcomes([case.task for case in request.module.CASES])


@pytest.fixture(scope="module")
def outcomes(request: pytest.FixtureRequest) -> dict[str, Outcome]:
    """Opwright's outcome of each case."""
    tasks = [case.task for case in request.module.CASES]
    return {task.name: outcome for task, outcome in zip(tasks, run_tasks("opwright", tasks), strict=True)}


def test_the_reference_says_what_the_case_says(case: StubCase, references: dict[str, Outcome]) -> None:
    """It refuses the files that are marked so, with the words that stand there, and accepts the others."""
    reference = references[case.name]
    assert (reference.status != 0) == (case.refusal is not None), reference.said
    assert (case.refusal or "") in reference.said


def test_files_have_the_same_bytes(
    case: StubCase, references: dict[str, Outcome], outcomes: dict[str, Outcome]
) -> None:
    """What the reference accepts has its bytes, and what it refuses leaves no file behind."""
    ours = outcomes[case.name]
    refused = case.refusal is not None or case.folder == "refused_here"
    assert ours.status == (1 if refused else 0), ours.said
    assert ours.files == ({} if refused else references[case.name].files)


def test_mistakes_are_at_their_places(case: StubCase, outcomes: dict[str, Outcome]) -> None:
    """What is found in a file is what its comments mark, to the column; a refused file has an error."""
    ours = outcomes[case.name]
    is_about_command = case.folder == "program" and USAGE in ours.said
    assert expected(ours.faults) == case.faults, ours.said
    assert case.is_refused_here == (ours.status != 0 and not is_about_command)


@pytest.mark.thorough
def test_operators_that_no_file_names_add_nothing(
    request: pytest.FixtureRequest, references: dict[str, Outcome], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The reference does for all of PyTorch's operators what it does for those whose names are in the files."""
    monkeypatch.setenv(WHOLE, "1")
    tasks = [case.task for case in request.module.CASES]
    outcomes = {task.name: outcome for task, outcome in zip(tasks, run_tasks("reference", tasks), strict=True)}
    assert outcomes == references
