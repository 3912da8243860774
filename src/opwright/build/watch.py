"""The files that a run read, as they were: what tells a later run, mostly without reading them, that none changed.

A file whose size, time of change and inode are the recorded ones is taken to be the same; any other is read, and
compared by its SHA-256. A file that changed only just before it was recorded could change again within the same tick
of the file system's clock, so it is read in any case.

Modules that decide whether there is anything to do import little: importing `typing` would take longer than deciding.
"""

from __future__ import annotations

import os
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import TypeAlias

    Mark: TypeAlias = "list[int | str] | None"
    """Size, time of change in nanoseconds, inode and SHA-256 of a file; None of one that is not there."""

__all__ = ["Watched"]

_SETTLED_NS = 2_000_000_000
"""How old a change must be to be told from the next one by its time: the coarsest file systems count in 2 s."""

_UNSETTLED = -1

_LARGE = 1 << 24
"""Files above this size, such as wheels, are known by their status alone: reading one takes longer than a run."""


class Watched:
    """Files with their marks, and folders with the names in them.

    >>> watched = Watched.taken([__file__], [])
    >>> watched.holds()
    True
    """

    __slots__ = ("_refreshed", "files", "folders")

    def __init__(self, files: Mapping[str, Mark], folders: Mapping[str, Sequence[str] | None]) -> None:
        self.files = dict(files)
        self.folders = dict(folders)
        self._refreshed = False

    @classmethod
    def taken(cls, files: Iterable[str], folders: Iterable[str]) -> Watched:
        """The state of files and folders now. Take it before the files are read: a change between is then seen."""
        return cls({path: _mark(path) for path in files}, {path: _names(path) for path in folders})

    @property
    def refreshed(self) -> bool:
        """Whether `holds` had to read a file that need not be read the next time."""
        return self._refreshed

    def holds(self) -> bool:
        """Whether all files have the contents, and all folders the names, that they had."""
        return all(_names(path) == names for path, names in self.folders.items()) and all(
            self._same(path, mark) for path, mark in self.files.items()
        )

    def _same(self, path: str, mark: Mark) -> bool:
        try:
            status = os.stat(path)
        except OSError:
            return mark is None
        if mark is None:
            return False
        size, changed, inode, digest = mark
        if status.st_size != size:
            return False
        if status.st_mtime_ns == changed and status.st_ino == inode:
            return True
        found = _mark(path)
        if found is None or found[3] != digest:
            return False
        if found[1] != _UNSETTLED:
            self.files[path] = found
            self._refreshed = True
        return True


def _mark(path: str) -> Mark:
    import hashlib

    try:
        with open(path, "rb") as stream:
            # The status is asked first: a change while the file is read makes it look older than it is.
            status = os.fstat(stream.fileno())
            large = status.st_size > _LARGE
            digest = f"{status.st_mtime_ns} {status.st_ino}" if large else hashlib.sha256(stream.read()).hexdigest()
    except OSError:
        return None
    settled = time.time_ns() - status.st_mtime_ns > _SETTLED_NS
    return [status.st_size, status.st_mtime_ns if settled else _UNSETTLED, status.st_ino, digest]


def _names(path: str) -> list[str] | None:
    try:
        return sorted(os.listdir(path))
    except OSError:
        return None
