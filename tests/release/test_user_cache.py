"""Where Opwright keeps things between runs."""

from __future__ import annotations

import sys
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


@pytest.mark.parametrize(
    ("platform", "local", "expected"),
    [
        ("linux", "", "~/.cache/opwright"),
        ("darwin", "", "~/.cache/opwright"),
        ("win32", "/local", "/local/opwright/Cache"),
        ("win32", "", "~/.cache/opwright"),
    ],
)
def test_the_core_has_a_cache_without_platformdirs(
    platform: str, local: str, expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where platformdirs is not installed, the folder is the usual one."""
    monkeypatch.delenv("OPWRIGHT_CACHE_DIR", raising=False)
    monkeypatch.setenv("ANDROID_DATA", "/data")
    monkeypatch.setenv("LOCALAPPDATA", local)
    monkeypatch.setattr(sys, "platform", platform)
    monkeypatch.setitem(sys.modules, "platformdirs", None)
    assert cache_folder() == str(Path(expected).expanduser())


def test_phones_have_caches_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """On other systems than Linux, platformdirs says where the folder is."""
    monkeypatch.delenv("OPWRIGHT_CACHE_DIR", raising=False)
    monkeypatch.setenv("ANDROID_DATA", "/data")
    monkeypatch.setattr(platformdirs, "user_cache_dir", lambda *names, **options: f"{names} {options}")
    assert cache_folder() == "('opwright',) {'appauthor': False}"
