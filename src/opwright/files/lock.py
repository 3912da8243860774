"""Lock of an output folder: runs into the same folder take turns.

The lock is the system's lock on a file that stays, so it ends with the process, however the process ends. If the
system or the file system has no locks, or the folder cannot be written, runs go on without one: files are still
written whole.
"""

from __future__ import annotations

import contextlib
import math
import os
import time

from opwright.files.plain_files import make_folders
from opwright.source.terminal import PATIENCE, say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_SECONDS_BETWEEN = 0.02
_LOCK = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)


@contextlib.contextmanager
def folder_lock(folder: str) -> Iterator[bool]:
    """A context in which no other run holds the lock of the same folder; it gives whether this run holds it.

    A process forked from the run holds it too, until it ends.
    """
    handle, is_held = -1, False
    with contextlib.suppress(OSError):
        make_folders(folder)
        handle = os.open(os.path.join(folder, "lock"), _LOCK, 0o666)
        _wait(handle, folder)
        is_held = True
    try:
        yield is_held
    finally:
        if handle >= 0:
            os.close(handle)


def _wait(handle: int, folder: str) -> None:
    """Lock a file, waiting until that is possible, and say so if it takes long. Raises OSError without locks."""
    if _locked(handle):
        return
    speaks = time.monotonic() + PATIENCE
    while not _locked(handle):
        time.sleep(_SECONDS_BETWEEN)
        if time.monotonic() > speaks:
            say(f"opwright: waiting for another run, which has locked {folder}\n")
            speaks = math.inf


try:
    import fcntl
except ImportError:

    def _locked(handle: int) -> bool:
        """Lock a file; gives False if another process has locked it."""
        import msvcrt

        try:
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined, unused-ignore]
        except OSError:
            return False
        return True

else:

    def _locked(handle: int) -> bool:
        """Lock a file; gives False if another process has locked it. Raises OSError if the file system has no locks."""
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True
