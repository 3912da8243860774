"""Reading and removing files in folders that others can write to, and making such folders.

What earlier runs left on disk may be damaged, copied from elsewhere or forged. These functions touch only regular
files: they do not follow symbolic links, and do not wait for pipes or devices. A folder below another one is opened
part by part, so that no link on the way leads out of it.

A run that has nothing to do imports this module, so it imports little.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import TypeAlias

    Status: TypeAlias = "tuple[int, int, int]"
    """Size, time of change in nanoseconds and inode of a file, as `file_status` gives them."""

_LARGEST = 1 << 28
"""Larger files were not left by a run."""

_PLAIN = getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0)
_FILE = os.O_RDONLY | _PLAIN | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
_FOLDER = os.O_RDONLY | _PLAIN | getattr(os, "O_DIRECTORY", 0)

_HAS_FOLDER_HANDLES = {os.open, os.stat, os.unlink} <= os.supports_dir_fd


#: The time that shows an edit. No program can set the time of change back, and setting the time of modification changes
#: it too. Windows keeps the time of creation in its place.
_TIME = "st_mtime_ns" if os.name == "nt" else "st_ctime_ns"


def file_status(status: os.stat_result) -> Status:
    """Size, time of change and inode of a file, one of which differs after any change."""
    return status.st_size, getattr(status, _TIME), status.st_ino


def real_folder(path: str) -> str:
    """Path of a folder with all links resolved and slashes between its parts; the root of a system is empty."""
    return os.path.realpath(path).replace(os.sep, "/").rstrip("/")


def real_path(path: str) -> str:
    """Path of a file with all links to its folder resolved; if the file itself is a link, it is not followed."""
    folder, name = os.path.split(os.path.abspath(path))
    return f"{real_folder(folder)}/{name}"


def stays_below(path: str) -> bool:
    """Whether a path is relative and has no part that could lead out of the folder that it is relative to.

    >>> stays_below("ops/add.h"), stays_below("../add.h"), stays_below("/ops/add.h")
    (True, False, False)
    """
    parts = path.replace(os.sep, "/").split("/")
    return "\0" not in path and not os.path.splitdrive(path)[0] and {"", ".", ".."}.isdisjoint(parts)


def read_plain_file(path: str, folder: int | None = None) -> bytes:
    """Contents of a regular file; `folder` is the handle of the folder that the path is relative to.

    Raises OSError for anything else, such as a link, a pipe, or a file larger than a run writes.
    """
    handle = os.open(path, _FILE, dir_fd=folder)
    try:
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode) or status.st_size > _LARGEST:
            raise OSError(errno.EINVAL, "not a file that a run wrote", path)
        return os.read(handle, status.st_size)
    finally:
        os.close(handle)


def read_below(top: str, path: str) -> bytes:
    """Contents of a regular file below a folder. Raises OSError if it is missing, or a link is on the way."""
    folder, _, name = path.rpartition("/")
    with _open_folder(top, folder) as handle:
        return read_plain_file(name if handle is not None else f"{top}/{path}", handle)


def remove_below(top: str, paths: Iterable[str]) -> None:
    """Remove the regular files among these paths below a folder.

    Paths with a link on the way, and those that would lead out of the folder, stay as they are.
    """
    folders: dict[str, list[str]] = {}
    for path in filter(stays_below, paths):
        folder, _, name = path.rpartition("/")
        folders.setdefault(folder, []).append(name)
    for folder, names in folders.items():
        with contextlib.suppress(OSError), _open_folder(top, folder) as handle:
            for name in names:
                _remove(name if handle is not None else f"{top}/{folder}/{name}", handle)


def remove_flat_folder(path: str) -> None:
    """Remove a folder of regular files. A link to a folder, and whatever cannot be removed, stays."""
    with contextlib.suppress(OSError):
        with _open_folder(path, "") as handle:
            for name in os.listdir(path if handle is None else handle):
                _remove(name if handle is not None else f"{path}/{name}", handle)
        os.rmdir(path)


def _remove(path: str, folder: int | None) -> None:
    with contextlib.suppress(OSError):
        if stat.S_ISREG(os.stat(path, dir_fd=folder, follow_symlinks=False).st_mode):
            os.unlink(path, dir_fd=folder)


@contextlib.contextmanager
def _open_folder(top: str, relative: str) -> Iterator[int | None]:
    """Handle of a folder below another one, or None on systems without such handles.

    Raises OSError if there is a link on the way, `top` itself included.
    """
    if not _HAS_FOLDER_HANDLES:
        path = os.path.join(os.path.realpath(os.path.dirname(top)), os.path.basename(top), relative)
        if os.path.normcase(os.path.realpath(path)) != os.path.normcase(os.path.normpath(path)):
            raise OSError(errno.ELOOP, "a link is on the way", path)
        yield None
        return
    handle = os.open(top, _FOLDER)
    try:
        for part in relative.split("/") if relative else ():
            inner = os.open(part, _FOLDER, dir_fd=handle)
            os.close(handle)
            handle = inner
        yield handle
    finally:
        os.close(handle)


def make_folders(path: str) -> None:
    """Make a folder and its missing parents.

    Raises OSError. If the path is too long, no folder is made.
    """
    missing: list[str] = []
    folder = path or "."
    while not _make_folder(folder):
        missing.append(folder)
        folder = os.path.dirname(folder.rstrip("/")) or "."
    for folder in reversed(missing):
        _make_folder(folder)


def _make_folder(folder: str) -> bool:
    """Make a folder, and tell whether it exists now; it does not if its parent is missing. Raises OSError."""
    try:
        os.mkdir(folder)
    except FileNotFoundError:
        return False
    except OSError:
        # Systems differ in how they report that it exists already.
        if not os.path.isdir(folder):
            raise
    return True
