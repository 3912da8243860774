"""Renames of random arguments change the name alone; `make renames` makes more of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.lsp.renames import rename_at_random


@pytest.mark.thorough
def test_random_renames_change_the_name_alone(tmp_path: Path) -> None:
    """After the renames that are offered, a check says what it said before, and the code differs in names alone."""
    outcome = rename_at_random(30, 0, tmp_path)
    assert outcome.wrong == []
    assert outcome.offered == 30
