"""Backend files have the reference's bytes, or are refused where it refuses them; each mistake is at its place."""

from __future__ import annotations

import pytest

from tests.backend.outcomes import Outcome, reference_outcomes, run_tasks
from tests.backend.stub_cases import StubCase, expected, load_cases

CASES = load_cases()
#: What begins the answer to a wrong command.
USAGE = "--help` lists all arguments"


#: One process runs all cases: another one would run the reference on each of them again.
pytestmark = pytest.mark.xdist_group("stub_cases")


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
    refused = case.refusal is not None or case.name.startswith("refused_here/")
    assert ours.status == (1 if refused else 0), ours.said
    assert ours.files == ({} if refused else references[case.name].files)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_mistakes_are_at_their_places(case: StubCase, outcomes: dict[str, Outcome]) -> None:
    """What is found in a file is what its comments mark, to the column; whatever is refused has an error."""
    ours = outcomes[case.name]
    assert expected(ours.faults) == case.faults, ours.said
    assert case.is_refused_here == (ours.status != 0 and USAGE not in ours.said)


def test_folders_say_what_cases_are_about() -> None:
    """What the reference refuses is under `refused`, unless it is about the command; `keys` and `rules` are right."""
    assert len(CASES) >= 190
    for case in CASES:
        folder = case.name.partition("/")[0]
        if folder not in ("impl", "program"):
            assert (case.refusal is not None) == (folder == "refused"), case.name
            assert case.is_refused_here == (folder in ("refused", "refused_here")), case.name
