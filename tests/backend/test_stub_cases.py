"""Backend files have the reference's bytes, or are refused where it refuses them; each mistake is at its place."""

from __future__ import annotations

from tests.backend.case_tests import *  # noqa: F403
from tests.backend.stub_cases import load_cases

CASES = load_cases()


def test_folders_say_what_cases_are_about() -> None:
    """What the reference refuses is under `refused`, unless it is about the command; `keys` and `rules` are right."""
    assert len(CASES) >= 190
    for case in CASES:
        if case.folder not in ("impl", "program"):
            assert (case.refusal is not None) == (case.folder == "refused"), case.name
            assert case.is_refused_here == (case.folder in ("refused", "refused_here")), case.name
