"""Random sources lose nothing but registrations: the small version of `make cuts`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cuts.__main__ import edit


@pytest.mark.thorough
def test_random_sources_lose_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`import --edit` cuts most registrations of random sources, also beside killed runs, and no other code."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    outcome = edit(45, seed=2)
    assert outcome.losses == []
    assert outcome.killed
    assert outcome.cut * 2 > outcome.pieces
