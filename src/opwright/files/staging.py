"""Staging folders, where a run writes files before it puts them in place, and the journal that names them.

A killed run can remove neither its staging folders nor the new files that it has already put in place. So a run writes
them into a journal before it makes them, and the next run into the same output folder removes what the journal names.
The lock of the output folder ends with the last process of a run, so whoever holds it knows that the run is dead.
Process numbers would not prove that: systems use them again, and each container has its own.

Files of the state folder are replaced whole, and start with a checksum of what follows.
"""

from __future__ import annotations

import contextlib
import os
import time
import zlib
from types import TracebackType

from opwright.files.plain_files import make_folders, read_plain_file, remove_below

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Final

    from opwright.files.plain_files import Status

STAGING_PREFIX: Final = ".opwright-"
"""The start of the name of each staging folder."""

TEMPORARY_SUFFIX: Final = ".new"
"""The suffix of a new file in the state folder, before it is renamed."""

_JOURNAL_NAME: Final = "staging"
_END: Final = "\0"
_APPEND: Final = os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
_OLD_SECONDS: Final = 3600
"""The age at which a staging folder can belong to no run: a run takes seconds."""


def staging_name() -> str:
    """A new name for staging folders."""
    return f"{STAGING_PREFIX}{os.urandom(8).hex()}"


class Journal:
    """Journal of the runs into one output folder, in their state folder.

    Entering it removes what a killed run left. Only the run that holds the lock of the folder may use it: without the
    lock (`locked`) it does nothing. A journal in an output folder may be forged, so it removes only files below that
    folder (`top`); a journal in the user's cache has no such limit.
    """

    __slots__ = ("_folder", "_locked", "_path", "_relative_folders", "_top")

    def __init__(self, state_folder: str, top: str | None, *, locked: bool) -> None:
        self._folder = os.path.realpath(state_folder)
        self._top = None if top is None else os.path.realpath(top)
        self._path = os.path.join(self._folder, _JOURNAL_NAME)
        self._relative_folders: dict[str, str] = {}
        self._locked = locked

    def __enter__(self) -> Journal:
        if self._locked:
            for path, status_text in self._entries():
                if status_text:
                    _remove_file(self._top, path, status_text)
                else:
                    remove_staging(path, with_folders=self._top is None)
            self._end()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if not self._locked:
            return
        entries = self._entries()
        for path, status_text in entries:
            if not status_text:
                remove_staging(path)
        # A process of a run that failed may have been killed with new files in place: the next run removes them.
        if error is None or not any(status_text and os.path.lexists(path) for path, status_text in entries):
            self._end()

    def add_staging(self, staging: str) -> None:
        """Note a staging folder that is about to be made."""
        self._add([(staging, "")])

    def add_files(self, files: Iterable[tuple[str, Status]]) -> None:
        """Note files that are about to be put where there are none, with their provisional status."""
        self._add((path, _status_text(status)) for path, status in files)

    def _add(self, entries: Iterable[tuple[str, str]]) -> None:
        """Append entries. If that fails, the run goes on without them."""
        if not self._locked:
            return
        text = "".join(f"{self._relative_path(path)}{_END}{status_text}{_END}" for path, status_text in entries)
        with contextlib.suppress(OSError):
            handle = os.open(self._path, _APPEND, 0o666)
            try:
                os.write(handle, os.fsencode(text))
            finally:
                os.close(handle)

    def _relative_path(self, path: str) -> str:
        """A path relative to the journal, so that it stays right if the output folder is moved."""
        folder, name = os.path.split(path)
        relative = self._relative_folders.get(folder)
        if relative is None:
            relative = self._relative_folders[folder] = _relative(os.path.realpath(folder), self._folder)
        return os.path.join(relative, name)

    def _entries(self) -> list[tuple[str, str]]:
        """Each path in the journal, with the status of a file as text; staging folders have none."""
        try:
            words = iter(os.fsdecode(read_plain_file(self._path)).split(_END))
        except OSError:
            return []
        return [
            (os.path.normpath(os.path.join(self._folder, path)), status_text)
            for path, status_text in zip(words, words, strict=False)
        ]

    def _end(self) -> None:
        with contextlib.suppress(OSError):
            for name in os.listdir(self._folder):
                if name == _JOURNAL_NAME or name.endswith(TEMPORARY_SUFFIX):
                    os.unlink(os.path.join(self._folder, name))


def _status_text(status: Status) -> str:
    return " ".join(map(str, status))


def _remove_file(top: str | None, path: str, status_text: str) -> None:
    """Remove a file if its status is still that of the journal, so a copied or forged journal does no harm."""
    folder, name = os.path.split(path) if top is None else (top, os.path.relpath(path, top).replace(os.sep, "/"))
    with contextlib.suppress(OSError):
        status = os.lstat(path)
        if _status_text((status.st_size, -status.st_mtime_ns, status.st_ino)) == status_text:
            remove_below(folder, [name])


def remove_left_staging(state_folder: str, top: str | None) -> None:
    """Remove what killed runs left, after waiting for a run that is under way. `top` is as for the journal."""
    if os.path.lexists(os.path.join(state_folder, _JOURNAL_NAME)):
        from opwright.files.lock import folder_lock

        with folder_lock(state_folder) as is_held, Journal(state_folder, top, locked=is_held):
            pass


def remove_old_staging(folders: Iterable[str]) -> None:
    """Remove old staging folders that no journal names, left by runs without a lock."""
    now = time.time()
    for folder in folders:
        with contextlib.suppress(OSError), os.scandir(folder) as entries:
            for entry in entries:
                if entry.name.startswith(STAGING_PREFIX) and now - entry.stat().st_mtime > _OLD_SECONDS:
                    remove_staging(entry.path)


def remove_staging(staging: str, *, with_folders: bool = False) -> None:
    """Remove a staging folder with its files. Whatever cannot be removed, or is not a staging folder, stays."""
    if not os.path.basename(staging).startswith(STAGING_PREFIX) or os.path.islink(staging):
        return
    if with_folders:
        from shutil import rmtree

        rmtree(staging, ignore_errors=True)
        return
    with contextlib.suppress(OSError):
        os.rmdir(staging)
        return
    with contextlib.suppress(OSError):
        for name in os.listdir(staging):
            if name.isdecimal():
                os.unlink(f"{staging}/{name}")
        os.rmdir(staging)


def _relative(path: str, start: str) -> str:
    try:
        return os.path.relpath(path, start)
    except ValueError:
        # On Windows there is no way from one drive to another.
        return path


STATE_FOLDER = ".opwright"
"""The folder below an output folder where runs keep their state. It may be deleted at any time."""

_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)


def replace_state(path: str, data: bytes) -> bool:
    """Replace a file of the state folder, whole, and tell whether that was possible."""
    temporary = f"{path}.{os.getpid()}{TEMPORARY_SUFFIX}"
    try:
        make_folders(os.path.dirname(path))
        with contextlib.suppress(FileNotFoundError):
            # Left by a process that had this number, or put here by someone.
            os.unlink(temporary)
        with open(os.open(temporary, _NEW, 0o666), "wb") as stream:
            stream.write(data)
        os.replace(temporary, path)
    except OSError:
        return False
    return True


def _state_header(file_format: str, body: bytes) -> bytes:
    """The first line of a file of the state folder: its format, and the checksum and the length of what follows."""
    return f"{file_format} {zlib.crc32(body):08x} {len(body)}".encode()


def replace_checked_state(path: str, file_format: str, body: bytes) -> bool:
    """Replace a file of the state folder, with a header, and tell whether that was possible."""
    return replace_state(path, _state_header(file_format, body) + b"\n" + body)


def read_checked_state(path: str, file_format: str) -> bytes:
    """What follows the header of a file of the state folder.

    Raises OSError if the file cannot be read, and ValueError if the header is not of this format or of what follows.
    """
    header, _, body = read_plain_file(path).partition(b"\n")
    if header != _state_header(file_format, body):
        raise ValueError("the header is another one")
    return body
