"""What the user trusts is kept where programs keep what their users configure."""

from __future__ import annotations

from pathlib import Path

import pytest
from platformdirs import user_config_dir

from opwright.plugins.permission import trust_path


@pytest.mark.parametrize("home", [None, "", " ", "/elsewhere"])
@pytest.mark.parametrize("system", ["linux", "darwin", "android"])
def test_the_file_is_in_the_users_configuration(home: str | None, system: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the folder that `platformdirs` gives, which Linux does not import."""
    monkeypatch.delenv("OPWRIGHT_CONFIG_DIR", raising=False)
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    if home is not None:
        monkeypatch.setenv("XDG_CONFIG_HOME", home)
    monkeypatch.setattr("sys.platform", "darwin" if system == "darwin" else "linux")
    if system == "android":
        monkeypatch.setenv("ANDROID_DATA", "/data")
    assert trust_path() == str(Path(user_config_dir("opwright", appauthor=False)) / "trust.json")


def test_a_variable_names_the_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Relative to the working folder, or to the home folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPWRIGHT_CONFIG_DIR", "own")
    assert trust_path() == str(tmp_path / "own" / "trust.json")
    monkeypatch.setenv("OPWRIGHT_CONFIG_DIR", "~/own")
    assert trust_path() == str(Path.home() / "own" / "trust.json")
