"""Backend files have the reference's bytes, or are refused where it refuses them; each mistake is at its place."""

from __future__ import annotations

import pytest

from tests.backend.case_tests import *  # noqa: F403
from tests.backend.outcomes import Outcome, run_tasks
from tests.backend.sides import STUBS, WHOLE
from tests.backend.stub_cases import load_cases

CASES = load_cases()


def test_folders_say_what_cases_are_about() -> None:
    """What the reference refuses is under `refused`, unless it is about the command; `keys` and `rules` are right."""
    assert len(CASES) >= 190
    for case in CASES:
        if case.folder not in ("impl", "program"):
            assert (case.refusal is not None) == (case.folder == "refused"), case.name
            assert case.is_refused_here == (case.folder in ("refused", "refused_here")), case.name


@pytest.mark.thorough
def test_operators_that_no_file_names_add_nothing(
    references: dict[str, Outcome], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The reference does for all of PyTorch's operators what it does for those whose names are in the files."""
    monkeypatch.setenv(WHOLE, "1")
    tasks = [case.task for case in CASES if case.task.program == STUBS]
    outcomes = {task.name: outcome for task, outcome in zip(tasks, run_tasks("reference", tasks), strict=True)}
    assert outcomes == {task.name: references[task.name] for task in tasks}
