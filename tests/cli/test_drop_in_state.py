"""What the drop-in programs remember stands outside of their folders."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from opwright.torchgen import gen


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's cache, empty."""
    folder = tmp_path / "cache"
    monkeypatch.setenv("OPWRIGHT_CACHE_DIR", str(folder))
    monkeypatch.setattr("gc.disable", lambda: None)
    return folder


def declarations(source: Path, out: Path) -> int:
    """The quickest run of the program."""
    folders = [
        "--install-dir",
        f"{out}/aten",
        "--aoti-install-dir",
        f"{out}/aoti",
        "--headeronly-install-dir",
        f"{out}/h",
    ]
    return gen.main(["--source-path", str(source), *folders, "--generate", "declarations_yaml"])


def files(folder: Path) -> set[str]:
    """The paths of all files below a folder."""
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


def test_folders_hold_nothing_but_outputs(cache: Path, reference_inputs: Path, tmp_path: Path) -> None:
    """A run leaves in its folders what PyTorch's generator would, and its state in the user's cache."""
    assert declarations(reference_inputs, tmp_path / "out") == 0
    assert files(tmp_path / "out") == {"aten/Declarations.yaml"}
    assert any(name.endswith(".state") for name in files(cache))


@pytest.mark.thorough
def test_state_of_a_deleted_build_goes(cache: Path, reference_inputs: Path, tmp_path: Path) -> None:
    """The next run into any folder removes what is remembered of folders that are gone."""
    assert declarations(reference_inputs, tmp_path / "first") == 0
    shutil.rmtree(tmp_path / "first")
    assert declarations(reference_inputs, tmp_path / "second") == 0
    assert len(list((cache / "state").iterdir())) == 1


@pytest.mark.thorough
def test_a_cache_that_cannot_be_written_is_no_fault(
    reference_inputs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a place for state every run makes everything, and is right."""
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("OPWRIGHT_CACHE_DIR", str(tmp_path / "file" / "cache"))
    monkeypatch.setattr("gc.disable", lambda: None)
    assert declarations(reference_inputs, tmp_path / "out") == 0
    assert declarations(reference_inputs, tmp_path / "out") == 0
    assert files(tmp_path / "out") == {"aten/Declarations.yaml"}
