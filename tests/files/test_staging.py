"""What runs leave that were killed, and how the next run finds it."""

from __future__ import annotations

import os
import shutil
import time
from contextlib import suppress
from pathlib import Path

import pytest

from opwright.files.staging import (
    STAGING_PREFIX,
    Journal,
    remove_left_staging,
    remove_old_staging,
    remove_staging,
    staging_name,
)
from opwright.files.writer import Writer


def everything(folder: Path) -> set[str]:
    """The paths of all files and folders below one, without the lock of the state folder."""
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*")} - {"state", "state/lock"}


def cut_short(folder: Path) -> None:
    """What a run leaves that is killed before it commits: two new files, one replacement and a file of the state."""
    (folder / "state").mkdir(exist_ok=True)
    (folder / "old.h").write_text("old")
    writer = Writer(Journal(f"{folder}/state", str(folder), locked=True))
    for path in ("new.h", "deep/er/new.h", "old.h"):
        writer.write(f"{folder}/{path}", b"new")
    writer.arrive()
    (folder / "state" / "a.manifest.123.new").write_text("part of a rec")


def test_the_next_run_removes_what_a_killed_one_left(tmp_path: Path) -> None:
    """Staging folders, new files and unfinished state go; old files and the folders stay."""
    cut_short(tmp_path)
    assert {"new.h", "deep/er/new.h", "state/staging", "state/a.manifest.123.new"} < everything(tmp_path)
    assert len([path for path in everything(tmp_path) if STAGING_PREFIX in path]) == 3
    with Journal(f"{tmp_path}/state", str(tmp_path), locked=True):
        assert everything(tmp_path) == {"old.h", "deep", "deep/er"}


def test_a_moved_folder_is_cleaned(tmp_path: Path) -> None:
    """The journal holds where the output folder is moved after the kill."""
    (tmp_path / "first").mkdir()
    cut_short(tmp_path / "first")
    shutil.move(tmp_path / "first", tmp_path / "second")
    remove_left_staging(f"{tmp_path}/second/state", f"{tmp_path}/second")
    assert everything(tmp_path / "second") == {"old.h", "deep", "deep/er"}


def test_a_run_that_ends_leaves_no_journal(tmp_path: Path) -> None:
    """What a run made stays, and nothing is left to clean."""
    with Journal(f"{tmp_path}/state", str(tmp_path), locked=True) as journal:
        (tmp_path / "state").mkdir()
        with Writer(journal) as writer:
            for number in range(200):
                writer.write(f"{tmp_path}/ops/{number}.h", b"new")
    assert everything(tmp_path) == {"ops", *(f"ops/{number}.h" for number in range(200))}


def test_files_of_a_killed_worker_go_with_the_next_run(tmp_path: Path) -> None:
    """A run that fails because one of its processes was killed keeps the journal of the new files of that process."""
    with suppress(RuntimeError), Journal(f"{tmp_path}/state", str(tmp_path), locked=True):
        cut_short(tmp_path)
        raise RuntimeError
    assert everything(tmp_path) == {"old.h", "new.h", "deep", "deep/er", "deep/er/new.h", "state/staging"} | {
        "state/a.manifest.123.new"
    }
    remove_left_staging(f"{tmp_path}/state", str(tmp_path))
    assert everything(tmp_path) == {"old.h", "deep", "deep/er"}


def test_a_file_that_changed_since_stays(tmp_path: Path) -> None:
    """Only what is as the killed run left it is removed."""
    cut_short(tmp_path)
    (tmp_path / "new.h").write_text("mine")
    remove_left_staging(f"{tmp_path}/state", str(tmp_path))
    assert "new.h" in everything(tmp_path)


def test_a_forged_journal_removes_nothing(tmp_path: Path) -> None:
    """Files and folders that no run made stay, whatever a journal says of them."""
    kept = tmp_path / "kept"
    staging = tmp_path / f"{STAGING_PREFIX}linked"
    (kept / "folder").mkdir(parents=True)
    (kept / "0").write_text("")
    staging.symlink_to(kept)
    named = tmp_path / f"{STAGING_PREFIX}files"
    named.mkdir()
    (named / "mine.txt").write_text("")
    (tmp_path / "state").mkdir()
    words = [f"{kept}/0", "1 2 3", f"{kept}/folder", "", str(staging), "", "../kept", "", str(named), "", "torn"]
    (tmp_path / "state" / "staging").write_text("\0".join(words))
    before = everything(tmp_path)
    remove_left_staging(f"{tmp_path}/state", str(tmp_path))
    assert everything(tmp_path) == before - {"state/staging"}


@pytest.mark.parametrize("trusted", [False, True])
def test_a_forged_journal_removes_nothing_outside(tmp_path: Path, trusted: bool) -> None:
    """A journal in the output folder removes no file outside it, even if it knows its status; the user's does."""
    (tmp_path / "out" / "state").mkdir(parents=True)
    outside = tmp_path / "outside"
    outside.mkdir()
    (tmp_path / "out" / "link").symlink_to(outside)
    words = []
    for name, path in (("a", outside / "a"), ("b", tmp_path / "out" / "link" / "b")):
        (outside / name).write_text("mine")
        status = (outside / name).stat()
        words += [str(path), f"{status.st_size} {-status.st_mtime_ns} {status.st_ino}"]
    (tmp_path / "out" / "state" / "staging").write_text("\0".join([*words, ""]))
    remove_left_staging(f"{tmp_path}/out/state", None if trusted else f"{tmp_path}/out")
    assert {path.name for path in outside.iterdir()} == ({"b"} if trusted else {"a", "b"})


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs a pipe with a name")
@pytest.mark.parametrize("make", [os.mkdir, getattr(os, "mkfifo", None), lambda path: os.symlink("staging", path)])
def test_a_journal_that_is_no_file(tmp_path: Path, make: object) -> None:
    """A folder, a pipe or a loop in place of the journal neither hangs a run nor fails it."""
    assert callable(make)
    (tmp_path / "state").mkdir()
    make(f"{tmp_path}/state/staging")
    with Journal(f"{tmp_path}/state", str(tmp_path), locked=True) as journal, Writer(journal) as writer:
        writer.write(f"{tmp_path}/new.h", b"new")
    assert (tmp_path / "new.h").read_bytes() == b"new"


def test_nothing_is_noted_without_the_lock(tmp_path: Path) -> None:
    """What two runs without a lock would write into the same journal proves nothing."""
    (tmp_path / "state").mkdir()
    with Journal(f"{tmp_path}/state", str(tmp_path), locked=False) as journal, Writer(journal) as writer:
        writer.write(f"{tmp_path}/new.h", b"new")
        assert not (tmp_path / "state" / "staging").exists()


def test_old_staging_folders_without_a_journal_go(tmp_path: Path) -> None:
    """Those of runs without a lock are removed when they are too old for any run, and not before."""
    young, old = tmp_path / staging_name(), tmp_path / staging_name()
    for folder in (young, old):
        folder.mkdir()
        (folder / "0").write_text("part of a fi")
    os.utime(old, (time.time() - 7200,) * 2)
    remove_old_staging([str(tmp_path)])
    assert (young.exists(), old.exists()) == (True, False)


def test_only_staging_folders_are_removed(tmp_path: Path) -> None:
    """A folder of another name stays even where it is empty."""
    (tmp_path / "empty").mkdir()
    remove_staging(f"{tmp_path}/empty")
    assert (tmp_path / "empty").exists()
