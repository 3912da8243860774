"""Replacing files that the user wrote: nothing that someone saves meanwhile is lost, and the file stays what it was.

A file is replaced only if it has the expected contents. It keeps its owner, permissions, extended attributes and links.

- The new contents go to a new file beside the old one, which is made like it. Both files are exchanged in one step, and
  what came out is compared once more: if it is not the expected contents, someone saved in between, and the files are
  exchanged again.
- If a new file cannot be like the old one, for instance because that one has hard links, the old one is overwritten.

A killed run can undo nothing. So a run writes each replacement into a record in the user's cache before it begins, and
the next run finishes or forgets it. A run that replaces several files together has one more record of all of them: the
next run takes back what it finds of such a run. The lock beside the records ends with the last process of a run.
"""

from __future__ import annotations

import contextlib
import errno
import os
import signal
import stat
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from json import dumps, loads
from types import TracebackType
from typing import Final, NamedTuple

from opwright.files.lock import folder_lock
from opwright.files.plain_files import make_folders
from opwright.files.staging import (
    Journal,
    read_checked_state,
    remove_old_staging,
    remove_staging,
    replace_checked_state,
    staging_name,
)
from opwright.files.writer import write_fault
from opwright.release.user_cache import cache_folder
from opwright.source.codes import NO_SPACE, NOT_PERMITTED
from opwright.source.diagnostic import Fault

_CURRENT_FOLDER = -100
_EXCHANGE = 2
_NOT_SUPPORTED = frozenset({errno.EINVAL, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EPERM})

_ATTEMPTS = 40
_PAUSE_SECONDS = 0.005


class FileBusy(Exception):
    """Raised for a lease on a file that another program has open."""


def exchange_files(first: str, second: str) -> bool:
    """Exchange two files of the same file system in one step, or give False where that is not possible.

    Raises OSError, such as FileNotFoundError if one of the files is missing.
    """
    call = _exchange_call()
    if call is None:
        return False
    number = call(first, second)
    if number in _NOT_SUPPORTED:
        return False
    if number:
        raise OSError(number, os.strerror(number), second)
    return True


@cache
def _exchange_call() -> Callable[[str, str], int] | None:
    """Function that exchanges two files and gives the number of the error, or 0; None if the system has none."""
    import ctypes

    try:
        rename = ctypes.CDLL(None, use_errno=True).renameat2
    except (AttributeError, OSError, TypeError):
        return None

    def call(first: str, second: str) -> int:
        paths = os.fsencode(first), os.fsencode(second)
        failed = rename(_CURRENT_FOLDER, paths[0], _CURRENT_FOLDER, paths[1], ctypes.c_uint(_EXCHANGE))
        return ctypes.get_errno() if failed else 0

    return call


@contextlib.contextmanager
def lease(handle: int, *, for_writing: bool) -> Iterator[Callable[[], bool]]:
    """A context in which no other program can open a file to write it, or `for_writing` to read it: it waits.

    The handle is open for reading alone, or `for_writing` for both. The function that the context gives tells whether
    no program waits. Where there are no leases, nobody waits and the function gives True. Raises FileBusy if another
    program has the file open already.
    """
    if not _is_leased(handle, for_writing):
        yield lambda: True
        return
    import fcntl

    try:
        yield lambda: fcntl.fcntl(handle, fcntl.F_GETLEASE) == _kind(for_writing)
    finally:
        fcntl.fcntl(handle, fcntl.F_SETLEASE, fcntl.F_UNLCK)


def _is_leased(handle: int, for_writing: bool) -> bool:
    """Take the lease, and tell whether there is one now."""
    try:
        import fcntl

        set_signal, set_lease, kind = fcntl.F_SETSIG, fcntl.F_SETLEASE, _kind(for_writing)
    except (ImportError, AttributeError):
        return False
    # The system sends a signal when a program waits. Nobody listens to this one, and it ends no process.
    fcntl.fcntl(handle, set_signal, signal.SIGURG)
    for _ in range(_ATTEMPTS):
        try:
            fcntl.fcntl(handle, set_lease, kind)
        except BlockingIOError:
            time.sleep(_PAUSE_SECONDS)
        except OSError:
            return False
        else:
            return True
    raise FileBusy


def _kind(for_writing: bool) -> int:
    import fcntl

    return fcntl.F_WRLCK if for_writing else fcntl.F_RDLCK


_FORMAT: Final = "opwright-replacement 1"
_SUFFIX: Final = ".replacement"
_GROUP_FORMAT: Final = "opwright-replacements 1"
_GROUP_SUFFIX: Final = ".replacements"
_BINARY: Final = getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
_READ: Final = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | _BINARY
_UPDATE: Final = os.O_RDWR | _BINARY
_CREATE: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _BINARY
_WRITABLE: Final = stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH
_HELP: Final = {
    NOT_PERMITTED: "change the permissions of the file or of its folder",
    NO_SPACE: "make room on the disk",
}


class _Replacement(NamedTuple):
    """A replacement: the file, its old and new contents, and the path of the new file; no path to overwrite."""

    target: str
    old: bytes
    new: bytes
    staged: str


class UserFiles:
    """A context in which a run replaces files of the user. Other such runs of the same user wait.

    Entering it finishes what a killed run left. The journal is for files that the run makes.
    """

    __slots__ = ("_folder", "_groups", "_is_held", "_lock", "journal")

    journal: Journal

    def __init__(self) -> None:
        self._folder = _state_folder()
        self._groups: list[str] = []
        self._lock = folder_lock(self._folder)
        self._is_held = False

    def __enter__(self) -> UserFiles:
        with contextlib.suppress(OSError):
            make_folders(os.path.dirname(self._folder))
            # The records have contents of files that others may not read.
            os.mkdir(self._folder, 0o700)
        self._is_held = self._lock.__enter__()
        if self._is_held:
            for path in self._left(_SUFFIX):
                _finish(path)
            for path in self._left(_GROUP_SUFFIX):
                self._take_back(path)
        self.journal = Journal(self._folder, None, locked=self._is_held)
        self.journal.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.journal.__exit__(kind, error, trace)
        # From here on all files of a group are new.
        for record in self._groups:
            _remove(record)
        self._lock.__exit__(kind, error, trace)

    def _left(self, suffix: str) -> list[str]:
        """Records of killed runs."""
        return [os.path.join(self._folder, name) for name in os.listdir(self._folder) if name.endswith(suffix)]

    def together(self, changes: Iterable[tuple[str, bytes | None, bytes]]) -> None:
        """Note files that are about to be replaced or made, which belong together, with their old and new contents.

        If this run is killed before its context ends, the next one gives each of them its old contents again.
        """
        if not self._is_held:
            return
        path = os.path.join(self._folder, os.urandom(8).hex() + _GROUP_SUFFIX)
        fields = [
            (os.path.realpath(target), None if old is None else old.decode("latin-1"), new.decode("latin-1"))
            for target, old, new in changes
        ]
        if replace_checked_state(path, _GROUP_FORMAT, dumps(fields).encode()):
            self._groups.append(path)

    def _take_back(self, record: str) -> None:
        """Give the files of a killed run their old contents, but for those that someone saved meanwhile."""
        with contextlib.suppress(OSError, ValueError, TypeError):
            for target, old, new in loads(read_checked_state(record, _GROUP_FORMAT)):
                with contextlib.suppress(Fault, OSError):
                    if old is not None:
                        self.replace(target, new.encode("latin-1"), old.encode("latin-1"))
                    elif _holds(target, new.encode("latin-1")):
                        os.unlink(target)
        _remove(record)

    def replace(self, path: str, old: bytes, new: bytes) -> bool:
        """Replace the contents of a file, or give False if they are not the old ones, or another program writes them.

        If the path is a symbolic link, it is followed and stays. Raises Fault if the file may not be written (E0605) or
        the system reports another error (E0606 to E0608); the file is then unchanged.

        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder, UserFiles() as files:
        ...     path = os.path.join(folder, "ops.yaml")
        ...     with open(path, "wb") as stream:
        ...         count = stream.write(b"- func: a")
        ...     files.replace(path, b"- func: a", b"- func: b"), files.replace(path, b"- func: a", b"- func: c")
        (True, False)
        """
        target = os.path.realpath(path)
        try:
            status = os.stat(target)
            if not status.st_mode & _WRITABLE or not os.access(target, os.W_OK):
                raise Fault.at(
                    NOT_PERMITTED, f"`{path}` is read-only: it is left as it is", help="make the file writable first"
                )
            remove_old_staging([os.path.dirname(target)])
            folder = os.path.join(os.path.dirname(target), staging_name())
            change = _Replacement(target, old, new, os.path.join(folder, "0"))
            if status.st_nlink == 1:
                replaced = self._replace_by_new_file(change)
                if replaced is not None:
                    return replaced
            return self._overwrite(change._replace(staged=""))
        except (FileNotFoundError, FileBusy):
            return False
        except OSError as error:
            raise write_fault(path, error, _HELP) from None

    def _replace_by_new_file(self, change: _Replacement) -> bool | None:
        """Put a new file in place of the old one, or give None if it cannot be like the old one."""
        staging = os.path.dirname(change.staged)
        record = self._record(change)
        try:
            os.mkdir(staging, 0o700)
            _write_whole(change.staged, change.new)
            if not _make_alike(change.target, change.staged):
                return None
            exchanged = _exchange(change)
            if exchanged is None and (exchanged := _holds(change.target, change.old)):
                os.replace(change.staged, change.target)
            return exchanged
        except OSError as error:
            # The folder may not be written, or something is mounted at the path of the file.
            if error.errno in {errno.EACCES, errno.EPERM, errno.EROFS, errno.EBUSY, errno.EXDEV}:
                return None
            raise
        finally:
            remove_staging(staging)
            _remove(record)

    def _overwrite(self, change: _Replacement) -> bool:
        """Write the new contents into the file itself. A run that is killed meanwhile is finished by the next one."""
        record = self._record(change)
        if not record:
            raise OSError(errno.EROFS, f"`{self._folder}` cannot be written, and the file cannot be replaced")
        handle = os.open(change.target, _UPDATE)
        try:
            with lease(handle, for_writing=True):
                if _contents(handle) != change.old:
                    return False
                try:
                    _write_over(handle, change.new)
                except BaseException:
                    _write_over(handle, change.old)
                    raise
                return True
        finally:
            os.close(handle)
            _remove(record)

    def _record(self, change: _Replacement) -> str:
        """Write the record of a replacement; its path, or nothing if the user's cache cannot be written."""
        if not self._is_held:
            return ""
        path = os.path.join(self._folder, os.urandom(8).hex() + _SUFFIX)
        fields = [change.target, change.old.decode("latin-1"), change.new.decode("latin-1"), change.staged]
        return path if replace_checked_state(path, _FORMAT, dumps(fields).encode()) else ""


def finish_killed_runs() -> None:
    """Finish or forget what killed runs began, and remove what they left. Nothing happens if there is nothing left."""
    with contextlib.suppress(OSError):
        if set(os.listdir(_state_folder())) - {"lock"}:
            with UserFiles():
                pass


def _state_folder() -> str:
    return os.path.join(cache_folder(), "state", "user-files")


def _finish(record: str) -> None:
    """Finish the replacement of a killed run."""
    with contextlib.suppress(OSError, ValueError, TypeError):
        target, old, new, staged = loads(read_checked_state(record, _FORMAT))
        change = _Replacement(target, old.encode("latin-1"), new.encode("latin-1"), staged)
        if change.staged:
            # If the new contents are in place, the other file is the old one, or what someone saved in between.
            if _holds(target, change.new) and not _holds(staged, change.old):
                os.replace(staged, target)
            remove_staging(os.path.dirname(staged))
        else:
            handle = os.open(target, _UPDATE)
            try:
                if _is_half_written(_contents(handle), change):
                    _write_over(handle, change.new)
            finally:
                os.close(handle)
    _remove(record)


def _is_half_written(contents: bytes, change: _Replacement) -> bool:
    """Whether a file is neither old nor new, but begins with the new contents and goes on with the old ones.

    >>> change = _Replacement("ops.yaml", b"- func: first", b"- func: a", "")
    >>> [_is_half_written(text, change) for text in (b"- func: afrst", b"- func: airst", b"- func: first")]
    [False, True, False]
    """
    pairs = enumerate(zip(contents, change.new, strict=False))
    size = next((index for index, (pair, new) in pairs if pair != new), min(len(contents), len(change.new)))
    return contents not in (change.old, change.new) and contents[size:] == change.old[size:]


def _exchange(change: _Replacement) -> bool | None:
    """Exchange the new file for the old one, unless someone saved the old one; None if the system cannot do it."""
    handle = os.open(change.target, _READ)
    try:
        with lease(handle, for_writing=False) as is_undisturbed:
            if _contents(handle) != change.old:
                return False
            placed = os.lstat(change.staged)
            if not exchange_files(change.staged, change.target):
                return None
            out = os.lstat(change.staged)
            if os.path.samestat(out, os.fstat(handle)) and _contents(handle) == change.old and is_undisturbed():
                return True
            _put_back(change, placed)
            return False
    finally:
        os.close(handle)


def _put_back(change: _Replacement, placed: os.stat_result) -> None:
    """Exchange again, until what comes out is what was put in place last: then nobody saved in between."""
    while True:
        back = os.lstat(change.staged)
        try:
            exchange_files(change.staged, change.target)
        except FileNotFoundError:
            # The file was removed after someone had saved it.
            with contextlib.suppress(FileExistsError):
                os.link(change.staged, change.target)
                return
            continue
        if os.path.samestat(os.lstat(change.staged), placed):
            return
        placed = back


def _make_alike(original: str, copy: str) -> bool:
    """Give a file the owner, permissions and extended attributes of another one, and tell whether that was possible."""
    status = os.stat(original)
    try:
        if hasattr(os, "chown"):
            os.chown(copy, status.st_uid, status.st_gid)
        os.chmod(copy, stat.S_IMODE(status.st_mode))
        attributes, others = _attributes(original), _attributes(copy)
        for name in others.keys() - attributes.keys():
            os.removexattr(copy, name)
        for name, value in attributes.items():
            if others.get(name) != value:
                os.setxattr(copy, name, value)
    except OSError:
        return False
    return True


def _attributes(path: str) -> Mapping[str, bytes]:
    """Extended attributes of a file, lists of access rights among them."""
    if not hasattr(os, "listxattr"):
        return {}
    try:
        return {name: os.getxattr(path, name) for name in os.listxattr(path)}
    except OSError as error:
        if error.errno in {errno.ENOTSUP, errno.EOPNOTSUPP}:
            return {}
        raise


def _holds(path: str, data: bytes) -> bool:
    with contextlib.suppress(OSError):
        handle = os.open(path, _READ)
        try:
            return _contents(handle) == data
        finally:
            os.close(handle)
    return False


def _contents(handle: int) -> bytes:
    """Contents of an open file. Raises OSError if it is not a regular file."""
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        raise OSError(errno.EEXIST, "it is not a file")
    os.lseek(handle, 0, os.SEEK_SET)
    parts = []
    while part := os.read(handle, 1 << 20):
        parts.append(part)
    return b"".join(parts)


def _write_whole(path: str, data: bytes) -> None:
    handle = os.open(path, _CREATE, 0o600)
    try:
        _write_over(handle, data)
    finally:
        os.close(handle)


def _write_over(handle: int, data: bytes) -> None:
    os.lseek(handle, 0, os.SEEK_SET)
    written = 0
    while written < len(data):
        written += os.write(handle, data[written:])
    os.ftruncate(handle, len(data))
    os.fsync(handle)


def _remove(record: str) -> None:
    with contextlib.suppress(OSError):
        os.unlink(record)
