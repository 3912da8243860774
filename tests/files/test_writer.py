"""Files are whole, whatever happens, and nothing is touched that need not be."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from opwright.cli.extra_files import touch_file
from opwright.files.plain_files import file_status, read_below, remove_below, remove_flat_folder
from opwright.files.staging import STAGING_PREFIX
from opwright.files.writer import Writer, final_statuses, write_file
from opwright.source.diagnostic import Fault

OLD = {f"ops/op_{number}.h": f"old {number}\n".encode() for number in range(6)}
NEW = {f"ops/op_{number}.h": b"new contents\n" * (number + 1) for number in range(9)}

# The calls of the system that change what is on disk.
CALLS = ["open", "write", "replace", "mkdir", "chmod", "close"]


class Killed(BaseException):
    """Stands for a signal: nothing in the package may catch it to go on."""


def contents(folder: Path) -> dict[str, bytes]:
    """Every file below a folder that is not part of a run's staging."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and not any(part.startswith(STAGING_PREFIX) for part in path.parts)
    }


def staging_folders(folder: Path) -> list[Path]:
    """What runs left behind."""
    return list(folder.rglob(f"{STAGING_PREFIX}*"))


def written(folder: Path, files: dict[str, bytes]) -> int:
    """Writes files in one run, and gives how many differed."""
    with Writer() as writer:
        return sum(writer.write(f"{folder}/{path}", data) for path, data in files.items())


def fail_at(monkeypatch: pytest.MonkeyPatch, name: str, nth: int, error: BaseException) -> Callable[[], bool]:
    """Lets the n-th use of a call of the system raise; gives a question whether it came to that."""
    real = getattr(os, name)
    count = 0

    def failing(*arguments: object, **options: object) -> object:
        nonlocal count
        count += 1
        if count == nth:
            raise error
        return real(*arguments, **options)

    monkeypatch.setattr(os, name, failing)
    return lambda: count >= nth


def test_a_second_run_touches_nothing(tmp_path: Path) -> None:
    """The first run writes all files, the second none, and time stamps stay."""
    assert written(tmp_path, NEW) == len(NEW)
    stamps = {path: (tmp_path / path).stat().st_mtime_ns for path in NEW}
    inodes = {path: (tmp_path / path).stat().st_ino for path in NEW}
    assert written(tmp_path, NEW) == 0
    assert {path: (tmp_path / path).stat().st_mtime_ns for path in NEW} == stamps
    assert {path: (tmp_path / path).stat().st_ino for path in NEW} == inodes
    assert contents(tmp_path) == NEW
    assert staging_folders(tmp_path) == []


def test_a_file_of_the_same_size_is_replaced(tmp_path: Path) -> None:
    """Equal sizes are not taken for equal contents."""
    assert write_file(f"{tmp_path}/a.h", b"one")
    assert write_file(f"{tmp_path}/a.h", b"two")
    assert (tmp_path / "a.h").read_bytes() == b"two"


def test_an_empty_file_is_written(tmp_path: Path) -> None:
    """A file without contents is a file."""
    assert write_file(f"{tmp_path}/a.h", b"")
    assert (tmp_path / "a.h").read_bytes() == b""
    assert not write_file(f"{tmp_path}/a.h", b"")


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("error", [Killed(), OSError(errno.EIO, "device on fire")], ids=["killed", "failed"])
def test_every_file_is_old_or_new_wherever_a_run_stops(tmp_path: Path, call: str, error: BaseException) -> None:
    """A run stopped at any use of any call leaves whole files; before the commit, all old ones; a rerun completes."""
    nth = 0
    happened = True
    while happened:
        nth += 1
        folder = tmp_path / f"{call}{nth}"
        written(folder, OLD)
        with pytest.MonkeyPatch.context() as patch:
            asked = fail_at(patch, call, nth, error)
            with contextlib.suppress(Killed, Fault):
                written(folder, NEW)
            happened = asked()
        stops = contents(folder)
        assert stops.keys() >= OLD.keys()
        for path, data in stops.items():
            assert data in (OLD.get(path), NEW[path])
        if happened and call != "replace":
            assert stops == OLD
        written(folder, NEW)
        assert contents(folder) == NEW
        assert staging_folders(folder) == []
    assert nth > 1


def test_a_short_write_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The system may take a part of what it is given; the rest follows."""
    real = os.write
    monkeypatch.setattr(os, "write", lambda handle, data: real(handle, bytes(data)[:5]))
    write_file(f"{tmp_path}/a.h", b"0123456789" * 10)
    assert (tmp_path / "a.h").read_bytes() == b"0123456789" * 10


def test_an_error_in_the_block_leaves_all_as_it_was(tmp_path: Path) -> None:
    """When making the contents of one file fails, no file changes, and no new one stays."""
    written(tmp_path, OLD)
    with contextlib.suppress(Killed), Writer() as writer:
        for path, data in NEW.items():
            writer.write(f"{tmp_path}/{path}", data)
        raise Killed
    assert contents(tmp_path) == OLD
    assert staging_folders(tmp_path) == []


def test_the_later_of_two_contents_stays(tmp_path: Path) -> None:
    """A path that is written twice in a run has the later contents, new file or old."""
    for _ in range(2):
        with Writer() as writer:
            writer.write(f"{tmp_path}/a.h", b"first")
            writer.write(f"{tmp_path}/a.h", b"second")
        assert (tmp_path / "a.h").read_bytes() == b"second"


def test_permissions_are_kept(tmp_path: Path) -> None:
    """A replaced file has the permissions of the one it replaces, a new one those that the umask leaves."""
    path = tmp_path / "a.sh"
    path.write_bytes(b"old")
    path.chmod(0o751)
    write_file(str(path), b"new")
    assert stat.S_IMODE(path.stat().st_mode) == 0o751
    umask = os.umask(0o027)
    try:
        write_file(f"{tmp_path}/b.h", b"new")
    finally:
        os.umask(umask)
    assert stat.S_IMODE((tmp_path / "b.h").stat().st_mode) == 0o640


@pytest.mark.parametrize("target", ["real.h", "missing.h", "link.h", "folder"])
@pytest.mark.parametrize("data", [b"old", b"new"])
def test_a_symbolic_link_is_replaced(tmp_path: Path, target: str, data: bytes) -> None:
    """Where a link stands there is a file afterwards, even of the same bytes; what the link led to stays as it was."""
    (tmp_path / "real.h").write_bytes(b"old")
    (tmp_path / "folder").mkdir()
    link = tmp_path / "link.h"
    link.symlink_to(tmp_path / target)
    assert write_file(str(link), data)
    assert not link.is_symlink()
    assert link.read_bytes() == data
    assert (tmp_path / "real.h").read_bytes() == b"old"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["folder", "link.h", "real.h"]
    assert list((tmp_path / "folder").iterdir()) == []
    assert not write_file(str(link), data)


def test_a_discarded_write_leaves_a_link(tmp_path: Path) -> None:
    """A link is replaced with the commit, not before."""
    link = tmp_path / "link.h"
    link.symlink_to(tmp_path / "real.h")
    with contextlib.suppress(Killed), Writer() as writer:
        writer.write(str(link), b"new")
        raise Killed
    assert link.is_symlink()
    assert staging_folders(tmp_path) == []


def test_a_linked_folder_is_followed(tmp_path: Path) -> None:
    """A file in a folder that is a link is written where the link leads."""
    (tmp_path / "real").mkdir()
    (tmp_path / "ops").symlink_to(tmp_path / "real")
    assert write_file(f"{tmp_path}/ops/a.h", b"new")
    assert (tmp_path / "real" / "a.h").read_bytes() == b"new"
    assert (tmp_path / "ops").is_symlink()


def test_final_statuses_are_those_of_the_files(tmp_path: Path) -> None:
    """After the commit each status is that on disk; of a file that someone else changed it is none that a file has."""
    paths = [f"{tmp_path}/{name}.h" for name in ("same", "changed", "new", "foreign")]
    for path in paths[:2]:
        write_file(path, b"old")
    with Writer() as writer:
        for path, data in zip(paths, [b"old", b"new", b"new", b"new"], strict=True):
            writer.write(path, data)
    os.utime(paths[3], ns=(1, 1))
    final = final_statuses(writer.statuses)
    assert {path: final[path] for path in paths[:3]} == {path: file_status(os.lstat(path)) for path in paths[:3]}
    assert final[paths[3]][1] < 0


@pytest.mark.parametrize("kind", ["missing", "file", "link"])
def test_a_stamp_is_touched(tmp_path: Path, kind: str) -> None:
    """A stamp is made with its folder, gets the time of now and keeps its text; a link is replaced."""
    real, stamp = tmp_path / "real", tmp_path / "stamps" / "done"
    real.write_text("mine")
    os.utime(real, (1, 1))
    if kind != "missing":
        stamp.parent.mkdir()
        stamp.symlink_to(real) if kind == "link" else stamp.write_text("text")
    if kind == "file":
        os.utime(stamp, (1, 1))
    touch_file(str(stamp))
    assert stamp.lstat().st_mtime > 1
    assert not stamp.is_symlink()
    assert stamp.read_text() == ("text" if kind == "file" else "")
    assert (real.read_text(), real.stat().st_mtime) == ("mine", 1)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes here")
def test_a_stamp_that_is_no_file_is_a_fault(tmp_path: Path) -> None:
    """A pipe or a folder in place of a stamp is reported, and not waited for."""
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "file").write_text("")
    for place, code in ((tmp_path / "pipe", "E0607"), (tmp_path, "E0607"), (tmp_path / "file" / "stamp", "E0607")):
        with pytest.raises(Fault) as caught:
            touch_file(str(place))
        assert caught.value.diagnostic.code == code


def test_a_relative_target_is_written_where_the_run_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A path without a folder is a file of the current one."""
    monkeypatch.chdir(tmp_path)
    assert write_file("a.h", b"text")
    assert contents(tmp_path) == {"a.h": b"text"}


def code_of_writing(target: Path) -> str:
    """The code of the fault that writing to a path is."""
    with pytest.raises(Fault) as caught:
        write_file(str(target), b"text")
    assert str(target) in caught.value.diagnostic.message
    return caught.value.diagnostic.code


def test_what_is_not_a_file_is_in_the_way(tmp_path: Path) -> None:
    """Folders, pipes, files and links in a circle in place of folders are faults, and stay as they are."""
    (tmp_path / "folder.h").mkdir()
    assert code_of_writing(tmp_path / "folder.h") == "E0607"
    os.mkfifo(tmp_path / "pipe.h")
    assert code_of_writing(tmp_path / "pipe.h") == "E0607"
    (tmp_path / "round").symlink_to(tmp_path / "round")
    assert code_of_writing(tmp_path / "round" / "a.h") == "E0607"
    (tmp_path / "file").write_bytes(b"old")
    assert code_of_writing(tmp_path / "file" / "a.h") == "E0607"
    assert code_of_writing(tmp_path / "file" / "ops" / "a.h") == "E0607"
    assert (tmp_path / "file").read_bytes() == b"old"


@pytest.mark.parametrize(
    ("number", "code"),
    [
        (errno.EACCES, "E0605"),
        (errno.EROFS, "E0605"),
        (errno.ENOSPC, "E0606"),
        (errno.EDQUOT, "E0606"),
        (errno.EIO, "E0608"),
    ],
)
def test_an_error_of_the_system_is_a_fault(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, code: str
) -> None:
    """Each kind of error has its code and the system's words, and the old file stays."""
    write_file(f"{tmp_path}/a.h", b"old")
    with monkeypatch.context() as patch:
        fail_at(patch, "write", 1, OSError(number, os.strerror(number)))
        with pytest.raises(Fault) as caught:
            write_file(f"{tmp_path}/a.h", b"new")
    assert caught.value.diagnostic.code == code
    assert os.strerror(number) in caught.value.diagnostic.message
    assert contents(tmp_path) == {"a.h": b"old"}
    assert staging_folders(tmp_path) == []


@pytest.mark.skipif(os.geteuid() == 0, reason="permissions do not bind this user")
def test_a_folder_that_may_not_be_written_is_a_fault(tmp_path: Path) -> None:
    """A read-only folder is E0605 for a new file and for a changed one, and no fault for an unchanged one."""
    write_file(f"{tmp_path}/a.h", b"old")
    tmp_path.chmod(0o555)
    try:
        assert code_of_writing(tmp_path / "b.h") == "E0605"
        assert code_of_writing(tmp_path / "a.h") == "E0605"
        assert not write_file(f"{tmp_path}/a.h", b"old")
    finally:
        tmp_path.chmod(0o755)


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="the system does not list open files")
@pytest.mark.alone
def test_no_folder_stays_open(tmp_path: Path) -> None:
    """Reading and removing below a folder leaves nothing open, whether it goes well or not."""
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "b" / "c.h").write_bytes(b"c")
    (tmp_path / "flat").mkdir()
    (tmp_path / "flat" / "d.h").touch()
    before = len(os.listdir("/proc/self/fd"))
    assert read_below(str(tmp_path), "a/b/c.h") == b"c"
    for path in ("a/b/none.h", "a/none/c.h"):
        with pytest.raises(FileNotFoundError):
            read_below(str(tmp_path), path)
    remove_below(str(tmp_path), ["a/b/c.h", "a/b/none.h", "a/none/c.h", "../c.h"])
    remove_flat_folder(str(tmp_path / "flat"))
    assert [path.name for path in tmp_path.rglob("*")] == ["a", "b"]
    assert len(os.listdir("/proc/self/fd")) == before
