"""What identifies a run: what it is asked for, the program that does it, and the stamps of the files that it reads.

Stamps tell a later run, mostly without reading the files, that none changed. A file with the size, time of change and
inode of its stamp is unchanged. Any other file is read and compared by its SHA-256. A file that changed just before its
stamp was taken could change again within the same tick of the file system's clock, so it is always read.

Modules that decide whether there is anything to do import little: importing `typing` would take longer than deciding.
"""

from __future__ import annotations

import contextlib
import os
import stat
import sys
import time
import zlib
from functools import cache
from json import dumps

from opwright.files.plain_files import file_status, real_folder
from opwright.files.staging import STATE_FOLDER

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any, TypeAlias

    from opwright.files.plain_files import Status

    Stamp: TypeAlias = "list[int | str] | None"
    """The status of a file (see `file_status`) and its SHA-256; None if it is not there."""

#: Folder of this package; it may be in a zip file.
_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

#: Folders of the package that no output depends on.
_UNUSED_FOLDERS = ("__pycache__", "diagnostics")

_CLOCK_TICK_NS = 2_000_000_000
"""How old a change must be to be told from the next one by its time: the coarsest file systems count in 2 s."""

_READ = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
"""How files are opened: a pipe in place of one is not waited for."""

_RACY = -1
"""In place of the time of change of a file that changed just before it was recorded."""

UNKNOWN = ""
"""In place of the SHA-256 of a file that changed while the run read it: which contents it read cannot be told."""

#: The stamp of such a file.
UNKNOWN_STAMP = (0, _RACY, 0, UNKNOWN)

_STAMP_TYPES = [int, int, int, str]

_LARGE = 1 << 24
"""Files above this size, such as wheels, are known by their status alone: reading one takes longer than a run."""


class RunIdentity:
    """What identifies a run: the output folder that keeps its state (`home`), its kind, and its request.

    Runs of one kind make the same files, if their inputs and options agree; the state of a later run replaces that of
    an earlier one. `kind` has the families, the output folders, and whatever else distinguishes kinds. `folders` are
    the output folders by name: relative to `home` if they are below it, so that the kind stays the same if `home` is
    moved. `roots` are their real paths.

    The state is kept in the output folder, or in the user's cache (`apart`) if the output folder may hold only outputs.
    `prunes` tells whether the run removes outputs of earlier runs that are no longer made.
    """

    __slots__ = ("apart", "families", "folders", "home", "kind", "prunes", "request", "roots", "state_folder")

    def __init__(
        self,
        home: str,
        folders: Mapping[str, str],
        families: Iterable[str],
        kind: Mapping[str, object],
        request: Mapping[str, object],
        *,
        apart: bool = False,
        prunes: bool = False,
    ) -> None:
        self.home = home
        self.apart = apart
        self.prunes = prunes
        self.state_folder = _state_folder_apart(home) if apart else os.path.join(home, STATE_FOLDER)
        self.families = tuple(families)
        self.folders = {name: _folder_in_kind(home, path) for name, path in folders.items()}
        self.roots = {name: real_folder(path) for name, path in folders.items()}
        self.kind = dumps({**kind, "folders": self.folders, "families": sorted(self.families)}, sort_keys=True)
        self.request = dumps(request, sort_keys=True)

    @property
    def journal_top(self) -> str | None:
        """Folder below which the journal may remove files; None if the journal is in the user's cache."""
        return None if self.apart else self.home

    def state_path(self, suffix: str) -> str:
        """Path of a file of the state of runs of this kind."""
        encoded = self.kind.encode()
        name = f"{zlib.crc32(encoded):08x}{zlib.adler32(encoded):08x}"
        return os.path.join(self.state_folder, name + suffix)


def _folder_in_kind(home: str, folder: str) -> str:
    top, path = os.path.abspath(home), os.path.abspath(folder)
    if path == top:
        return ""
    return path[len(top) + 1 :].replace(os.sep, "/") if path.startswith(top + os.sep) else real_folder(path)


def _state_folder_apart(home: str) -> str:
    """Folder of the user's cache with the state of runs into an output folder."""
    from opwright.release.user_cache import cache_folder

    real = os.path.realpath(home).encode("utf-8", "surrogateescape")
    return os.path.join(cache_folder(), "state", f"{zlib.crc32(real):08x}{zlib.adler32(real):08x}")


@cache
def tool_identity() -> str:
    """A text that is another one when any file of this package is: a module, a table, a template, a support header.

    The pages of diagnostics are left out: no output and no message is made from them.

    It is found out once, because modules do not change for a process that has imported them.
    """
    lines = [f"{path} {status.st_size} {status.st_mtime_ns}" for path, status in own_files().items()]
    return f"{sys.implementation.cache_tag} {zlib.crc32(chr(10).join(sorted(lines)).encode()):08x} {_PACKAGE}"


def input_files(stamps: InputStamps | None) -> list[str]:
    """Files that a run read and that are on this machine."""
    return [] if stamps is None else [path for path, stamp in stamps.files.items() if stamp is not None]


def own_files(top: str = _PACKAGE) -> dict[str, os.stat_result]:
    """Files of this package on which outputs may depend; of a package in a zip file, the zip.

    There are hundreds, and a run with nothing to do lists them.

    >>> __file__ in own_files()
    True
    """
    statuses, folders = {}, [top]
    # A package in a zip file is as old as that.
    archive: str = getattr(__spec__.loader, "archive", "") if __spec__ is not None else ""
    if archive:
        return {archive: os.stat(archive)}
    while folders:
        with contextlib.suppress(OSError), os.scandir(folders.pop()) as entries:
            for entry in entries:
                if entry.is_dir():
                    if entry.name not in _UNUSED_FOLDERS:
                        folders.append(entry.path)
                else:
                    statuses[entry.path] = entry.stat()
    return statuses


class InputStamps:
    """Stamps of files, and the names in folders.

    >>> stamps = InputStamps.take([__file__], [])
    >>> stamps.are_current()
    True
    """

    __slots__ = ("files", "folders", "has_new_stamps", "statuses")

    def __init__(self, files: Mapping[str, Stamp], folders: Mapping[str, Sequence[str] | None]) -> None:
        self.files = dict(files)
        self.folders = dict(folders)
        self.has_new_stamps = False
        """Whether `are_current` had to read a file that need not be read the next time."""
        self.statuses: dict[str, Status | None] = {}
        """Those of files and folders when their state was taken."""

    @classmethod
    def take(cls, files: Iterable[str], folders: Iterable[str]) -> InputStamps:
        """State of files and folders now. Take it before the files are read: a change between is then seen."""
        files, folders = list(files), list(folders)
        statuses = {path: _status(path) for path in (*files, *folders)}
        stamps = cls({path: _stamp(path) for path in files}, {path: _names(path) for path in folders})
        stamps.statuses = statuses
        return stamps

    @classmethod
    def from_manifest(cls, files: Mapping[str, Any], folders: Mapping[str, Any]) -> InputStamps:
        """Stamps that a manifest has. Raises TypeError where a value is of a wrong type."""
        for stamp in files.values():
            if stamp is not None and list(map(type, stamp)) != _STAMP_TYPES:
                raise TypeError("a stamp is three numbers and a digest")
        for names in folders.values():
            if names is not None and (type(names) is not list or set(map(type, names)) - {str}):
                raise TypeError("the names in a folder are texts")
        return cls(files, folders)

    def add(self, path: str) -> None:
        """Take the state of one more file, before the run reads it."""
        self.statuses[path] = _status(path)
        self.files[path] = _stamp(path)

    def including(self, paths: Iterable[str]) -> InputStamps:
        """A copy with the stamps of more files."""
        stamps = InputStamps(self.files, self.folders)
        stamps.statuses = dict(self.statuses)
        for path in paths:
            if path not in stamps.files:
                stamps.add(path)
        return stamps

    def distrust_changed(self) -> None:
        """Forget the contents of every file, and the names in every folder, that changed since this state was taken.

        Call it when the run has read everything. A file that changed meanwhile, even if it changed back, may have been
        read with other contents than those recorded here; the next run then does not take it for unchanged.
        """
        for path, status in self.statuses.items():
            if _status(path) == status:
                continue
            if path in self.folders:
                self.folders[path] = [UNKNOWN]
            if path in self.files:
                self.files[path] = list(UNKNOWN_STAMP)

    def are_current(self) -> bool:
        """Whether all files have the contents, and all folders the names, that they had."""
        return all(_names(path) == names for path, names in self.folders.items()) and all(
            self._is_unchanged(path, stamp) for path, stamp in self.files.items()
        )

    def _is_unchanged(self, path: str, stamp: Stamp) -> bool:
        try:
            status = os.stat(path)
        except OSError:
            return stamp is None
        if stamp is None:
            return False
        size, changed, inode, digest = stamp
        if status.st_size != size:
            return False
        if file_status(status) == (size, changed, inode):
            return True
        now = _stamp(path)
        if now is None or now[-1] != digest:
            return False
        if now[1] != _RACY:
            self.files[path] = now
            self.has_new_stamps = True
        return True


def _status(path: str) -> Status | None:
    """Status of a file or folder, to be compared with a later one; None if it is not there."""
    try:
        return file_status(os.stat(path))
    except OSError:
        return None


def _stamp(path: str) -> Stamp:
    import hashlib

    try:
        with open(os.open(path, _READ), "rb") as stream:
            # The status is asked first: a change while the file is read makes it look older than it is.
            status = os.fstat(stream.fileno())
            if not stat.S_ISREG(status.st_mode):
                return None
            size, changed, inode = file_status(status)
            digest = f"{changed} {inode}" if size > _LARGE else hashlib.sha256(stream.read()).hexdigest()
    except OSError:
        return None
    is_settled = time.time_ns() - max(status.st_mtime_ns, status.st_ctime_ns) > _CLOCK_TICK_NS
    return [size, changed if is_settled else _RACY, inode, digest]


def _names(path: str) -> list[str] | None:
    try:
        return sorted(os.listdir(path))
    except OSError:
        return None
