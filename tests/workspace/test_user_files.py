"""Replacing files of the user: what is kept, what is refused, and what happens if someone saves meanwhile.

`make kills` disturbs replacements at any line; these are single moments.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from opwright.files.staging import replace_checked_state, staging_name
from opwright.source import codes
from opwright.source.diagnostic import Fault
from opwright.workspace import user_files
from opwright.workspace.user_files import FileBusy, UserFiles, exchange_files, finish_killed_runs, lease

OLD, NEW, SAVED, LATER = b"- func: old\n", b"- func: new, and longer\n", b"- func: saved\n", b"- func: saved later\n"

is_root = hasattr(os, "geteuid") and os.geteuid() == 0


def file(folder: Path, text: bytes = OLD) -> Path:
    """A file of the user."""
    path = folder / "ops.yaml"
    path.write_bytes(text)
    return path


def replace(path: Path) -> bool:
    """Replace the old contents by the new ones."""
    with UserFiles() as files:
        return files.replace(str(path), OLD, NEW)


def save(path: Path, text: bytes) -> None:
    """Save a file as editors do that write a new one."""
    new = path.with_name("saving")
    new.write_bytes(text)
    new.replace(path)


def can_exchange(folder: Path) -> bool:
    """Whether the file system can exchange files."""
    first, second = folder / "first", folder / "second"
    first.touch()
    second.touch()
    possible = exchange_files(str(first), str(second))
    first.unlink()
    second.unlink()
    return possible


@pytest.mark.parametrize("has_second_name", [False, True])
def test_all_but_the_contents_stays(has_second_name: bool, tmp_path: Path) -> None:
    """A replaced file keeps its permissions, owner, extended attributes and links, and nothing is left beside it."""
    path = file(tmp_path)
    path.chmod(0o640)
    (tmp_path / "link.yaml").symlink_to("ops.yaml")
    if has_second_name:
        (tmp_path / "second.yaml").hardlink_to(path)
    if is_root:
        os.chown(path, 1234, 2345)
    attributes = {}
    if hasattr(os, "setxattr"):
        try:
            os.setxattr(path, "user.origin", b"written by hand")
            attributes = {name: os.getxattr(path, name) for name in os.listxattr(path)}
        except OSError:
            pass
    before = path.stat()
    names = set(os.listdir(tmp_path))
    assert replace(tmp_path / "link.yaml")
    after = path.stat()
    assert path.read_bytes() == NEW
    assert (after.st_mode, after.st_uid, after.st_gid) == (before.st_mode, before.st_uid, before.st_gid)
    assert after.st_nlink == (2 if has_second_name else 1)
    assert (after.st_ino == before.st_ino) is has_second_name
    if attributes:
        assert {name: os.getxattr(path, name) for name in os.listxattr(path)} == attributes
    assert (tmp_path / "link.yaml").is_symlink()
    assert set(os.listdir(tmp_path)) == names


def test_a_file_that_cannot_be_copied_is_overwritten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If a new file would have another owner or other attributes, the old file gets the new contents."""
    path = file(tmp_path)
    inode = path.stat().st_ino
    monkeypatch.setattr(user_files, "_make_alike", lambda original, copy: False)
    assert replace(path)
    assert (path.read_bytes(), path.stat().st_ino, os.listdir(tmp_path)) == (NEW, inode, ["ops.yaml"])


@pytest.mark.parametrize("mode", [0o444, 0o400])
def test_a_read_only_file_is_left_alone(mode: int, tmp_path: Path) -> None:
    """A file that nobody may write is not replaced, whoever runs the command and whoever may write the folder."""
    path = file(tmp_path)
    path.chmod(mode)
    with pytest.raises(Fault) as raised:
        replace(path)
    assert raised.value.diagnostic.code == codes.NOT_PERMITTED
    assert "read-only" in raised.value.diagnostic.message
    assert (path.read_bytes(), stat.S_IMODE(path.stat().st_mode)) == (OLD, mode)


@pytest.mark.parametrize("has_second_name", [False, True])
def test_a_full_disk(has_second_name: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If the disk is full, the file has its old contents, and nothing is left beside it."""
    path = file(tmp_path)
    if has_second_name:
        (tmp_path / "second.yaml").hardlink_to(path)
    names = set(os.listdir(tmp_path))
    write = os.write

    def full(handle: int, data: bytes) -> int:
        if data == NEW:
            return write(handle, data[:5])
        if NEW.endswith(data):
            raise OSError(28, "No space left on device")
        return write(handle, data)

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(Fault) as raised:
        replace(path)
    assert raised.value.diagnostic.code == codes.NO_SPACE
    assert (path.read_bytes(), set(os.listdir(tmp_path))) == (OLD, names)


def _save_in_place(path: Path) -> None:
    path.write_bytes(SAVED)


def _save_anew(path: Path) -> None:
    save(path, SAVED)


def _remove(path: Path) -> None:
    path.unlink()


@pytest.mark.parametrize("change", [_save_in_place, _save_anew, _remove])
def test_a_changed_file_is_left_alone(change: Callable[[Path], None], tmp_path: Path) -> None:
    """What is saved before the replacement stays."""
    path = file(tmp_path)
    change(path)
    names = os.listdir(tmp_path)
    assert not replace(path)
    assert os.listdir(tmp_path) == names
    assert not path.exists() or path.read_bytes() == SAVED


def test_a_save_after_the_comparison(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that someone puts in place after the last comparison comes back, and of several ones the last."""
    if not can_exchange(tmp_path):
        pytest.skip("the system cannot exchange files")
    path = file(tmp_path)
    saves = [LATER, SAVED]

    def exchange(first: str, second: str) -> bool:
        if saves:
            save(path, saves.pop())
        return exchange_files(first, second)

    monkeypatch.setattr(user_files, "exchange_files", exchange)
    assert not replace(path)
    assert not saves
    assert (path.read_bytes(), os.listdir(tmp_path)) == (LATER, ["ops.yaml"])


def test_a_removal_after_a_save(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A saved file whose place is free again when it is put back is there in the end."""
    if not can_exchange(tmp_path):
        pytest.skip("the system cannot exchange files")
    path = file(tmp_path)
    turns = [_remove, _save_anew]

    def exchange(first: str, second: str) -> bool:
        if turns:
            turns.pop()(path)
        return exchange_files(first, second)

    monkeypatch.setattr(user_files, "exchange_files", exchange)
    assert not replace(path)
    assert (path.read_bytes(), os.listdir(tmp_path)) == (SAVED, ["ops.yaml"])


def test_without_exchange(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A system that cannot exchange files replaces a file after one more comparison."""
    monkeypatch.setattr(user_files, "exchange_files", lambda first, second: False)
    path = file(tmp_path)
    assert replace(path)
    assert (path.read_bytes(), os.listdir(tmp_path)) == (NEW, ["ops.yaml"])
    assert not replace(path)


def test_a_file_that_is_being_written(tmp_path: Path) -> None:
    """A file that another program has open to write it counts as changed, where the system tells."""
    path = file(tmp_path)
    with path.open("rb") as stream, path.open("r+b"):
        try:
            with lease(stream.fileno(), for_writing=False):
                pytest.skip("there are no leases")
        except FileBusy:
            assert not replace(path)
    assert path.read_bytes() == OLD


def test_without_a_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If the user's cache cannot be written, files are replaced, but not overwritten: a kill would damage them."""
    (tmp_path / "cache").touch()
    monkeypatch.setenv("OPWRIGHT_CACHE_DIR", str(tmp_path / "cache"))
    path = file(tmp_path)
    assert replace(path)
    path.write_bytes(OLD)
    (tmp_path / "second.yaml").hardlink_to(path)
    with pytest.raises(Fault):
        replace(path)
    assert path.read_bytes() == OLD
    finish_killed_runs()


def test_records_are_private(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Records have contents of files, so only the user can read them; nothing is left of one that is damaged."""
    monkeypatch.setenv("OPWRIGHT_CACHE_DIR", str(tmp_path / "cache"))
    with UserFiles():
        pass
    (folder,) = (tmp_path / "cache" / "state").iterdir()
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    (folder / "1.replacement").write_bytes(b"opwright-replacement 1 00000000 4\n[]")
    finish_killed_runs()
    assert os.listdir(folder) == ["lock"]


@pytest.mark.parametrize(
    ("contents", "staged", "final"),
    [
        (OLD, NEW, OLD),
        (NEW, OLD, NEW),
        (NEW, SAVED, SAVED),
        (SAVED, OLD, SAVED),
        (OLD, None, OLD),
        (NEW[:9] + OLD[9:], None, NEW),
        (NEW[:-2], None, NEW),
        (NEW, None, NEW),
        (SAVED, None, SAVED),
    ],
    ids=[
        "before the exchange",
        "after the exchange",
        "after the exchange, saved in between",
        "saved before the exchange",
        "before the first byte",
        "over a part of the old contents",
        "at the last bytes",
        "after the last byte",
        "saved before the first byte",
    ],
)
def test_a_killed_run_is_finished(
    contents: bytes, staged: bytes | None, final: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a killed run leaves of a replacement, by a new file or in the file, is old, new, or what someone saved."""
    monkeypatch.setenv("OPWRIGHT_CACHE_DIR", str(tmp_path / "cache"))
    (tmp_path / "files").mkdir()
    path = file(tmp_path / "files", contents)
    copy = ""
    if staged is not None:
        new_file = path.parent / staging_name() / "0"
        new_file.parent.mkdir()
        new_file.write_bytes(staged)
        copy = str(new_file)
    with UserFiles():
        pass
    (folder,) = (tmp_path / "cache" / "state").iterdir()
    fields = [str(path), OLD.decode(), NEW.decode(), copy]
    assert replace_checked_state(str(folder / "1.replacement"), "opwright-replacement 1", json.dumps(fields).encode())
    finish_killed_runs()
    assert (path.read_bytes(), os.listdir(path.parent), os.listdir(folder)) == (final, ["ops.yaml"], ["lock"])
