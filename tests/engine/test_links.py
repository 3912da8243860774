"""Links below the output folder: linked folders are followed with a note, links in place of files are replaced."""

from __future__ import annotations

from pathlib import Path

import pytest

from opwright.torchgen import gen
from tests.engine.project import Project, files_of

OPS = "aten/src/ATen/ops"


def test_a_linked_folder_is_followed_with_a_note(project: Project, tmp_path: Path) -> None:
    """Files of a folder that leads out are written where it leads; each run says so, also one with nothing to do."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (project.out / OPS).parent.mkdir(parents=True)
    (project.out / OPS).symlink_to(elsewhere)
    for _ in range(2):
        done = project.run()
        assert f"note[W0614]: `{project.out / OPS}` is a link" in done.stderr
        assert f"`{elsewhere}`" in done.stderr
    assert "0 written" in done.stdout
    assert (elsewhere / "twice.h").exists()
    assert (project.out / OPS).is_symlink()


def test_links_that_stay_inside_or_stand_above_are_not_spoken_of(project: Project, tmp_path: Path) -> None:
    """No note is needed for a link within the output folder, nor for one that is the output folder."""
    (tmp_path / "real" / "inner").mkdir(parents=True)
    (tmp_path / "real" / "aten" / "src" / "ATen").mkdir(parents=True)
    (tmp_path / "real" / OPS).symlink_to(tmp_path / "real" / "inner")
    project.out.symlink_to(tmp_path / "real")
    assert project.run().stderr == ""
    assert (tmp_path / "real" / "inner" / "twice.h").exists()


@pytest.mark.parametrize("state", ["first run", "later run"])
def test_a_file_that_is_a_link_is_replaced(project: Project, tmp_path: Path, state: str) -> None:
    """Where an output is a link there is a file after the run, and what the link led to is as it was."""
    if state == "later run":
        project.run()
    precious = tmp_path / "precious.h"
    precious.write_text("mine\n")
    header = project.out / OPS / "twice.h"
    header.parent.mkdir(parents=True, exist_ok=True)
    header.unlink(missing_ok=True)
    header.symlink_to(precious)
    assert project.run().stderr == ""
    assert not header.is_symlink()
    assert precious.read_text() == "mine\n"


def test_extra_files_that_are_links_are_replaced(project: Project, tmp_path: Path) -> None:
    """Dependency file, stamp and provenance replace a link of their name, and leave its target alone."""
    precious = tmp_path / "precious"
    precious.write_text("mine\n")
    words: list[object] = []
    for flag in ("--depfile", "--stamp", "--provenance"):
        (tmp_path / flag[2:]).symlink_to(precious)
        words += [flag, tmp_path / flag[2:]]
    project.run(*words)
    assert precious.read_text() == "mine\n"
    assert not any((tmp_path / flag).is_symlink() for flag in ("depfile", "stamp", "provenance"))


def test_nothing_is_written_outside(project: Project, tmp_path: Path) -> None:
    """With links to files and folders above, the run writes nothing but below its folder and where its links lead."""
    (tmp_path / "above").mkdir()
    (tmp_path / "above" / "file").write_text("mine\n")
    before = files_of(tmp_path)
    (project.out / "aten").mkdir(parents=True)
    (project.out / "aten/src").symlink_to(tmp_path / "linked")
    project.run()
    after = {path: data for path, data in files_of(tmp_path).items() if not path.startswith(("out/", "linked/"))}
    assert after == before


def test_a_drop_in_follows_a_linked_folder_with_a_note(
    reference_inputs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The folders that the arguments name are the user's choice; a link below them is noted."""
    monkeypatch.setenv("OPWRIGHT_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr("gc.disable", lambda: None)
    for name in ("real", "core", "aoti"):
        (tmp_path / name).mkdir()
    (tmp_path / "install").symlink_to(tmp_path / "real")
    (tmp_path / "real" / "core").symlink_to(tmp_path / "core")
    words = ["--source-path", str(reference_inputs), "--install-dir", f"{tmp_path}/install"]
    words += ["--aoti-install-dir", f"{tmp_path}/aoti", "--generate", "declarations_yaml"]
    assert gen.main(words) == 0
    noted = capsys.readouterr().err
    assert noted.count("note[W0614]") == 1
    assert f"`{tmp_path}/install/core` is a link" in noted
