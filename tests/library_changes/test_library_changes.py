"""Saved programs and verdicts; the target `library-changes` compiles many more."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import pytest

from opwright.tools.diff.records import Level
from tests.compile.conftest import program
from tests.library_changes.comparison import drawn_pairs, judged

__all__ = ["program"]


@pytest.mark.thorough
def test_what_is_called_compatible_runs(program: str, tmp_path: Path) -> None:
    """Programs of the old form give the same with the new one, unless the change is called a major one."""
    chance = random.Random(2)
    pairs = drawn_pairs(40, chance, tmp_path)
    found = list(judged(pairs, chance, tmp_path / "batch", program))
    assert not [str(each) for each in found if each.is_wrong]
    broken = [each for each in found if each.faults]
    assert len(broken) > 10, "programs that a change breaks are seen"
    assert sum(each.programs for each in found) > 400


def test_pairs_are_of_all_levels(tmp_path: Path) -> None:
    """What is drawn has changes of each level, most of them of contracts and schemas."""
    pairs = drawn_pairs(40, random.Random(5), tmp_path)
    assert {pair.level for pair in pairs} == set(Level)
    assert all(pair.old.text() != pair.new.text() for pair in pairs)
    assert len(Counter(change for pair in pairs for change in pair.change.split(" and "))) > 8
