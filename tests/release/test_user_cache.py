"""Where Opwright keeps things between runs."""

from __future__ import annotations

from pathlib import Path

import platformdirs
import pytest

from opwright.release.user_cache import cache_folder


@pytest.mark.parametrize("named", ["", "  ", "/somewhere/else"])
def test_the_cache_is_where_the_platform_has_caches(named: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The user's cache folder is the platform's, which the environment may move."""
    monkeypatch.delenv("OPWRIGHT_CACHE_DIR", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", named)
    assert cache_folder() == platformdirs.user_cache_dir("opwright", appauthor=False)


def test_the_cache_can_be_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder of its own comes before the platform's."""
    monkeypatch.setenv("OPWRIGHT_CACHE_DIR", str(tmp_path / "own"))
    assert cache_folder() == str(tmp_path / "own")
