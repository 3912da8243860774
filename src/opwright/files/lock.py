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
from types import TracebackType

from opwright.files.plain_files import make_folders
from opwright.source.terminal import PATIENCE, say

_SECONDS_BETWEEN = 0.02
_LOCK = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)


class FolderLock:
    """A context in which no other run holds the lock of the same folder.

    `is_held` tells whether this run holds it now. A process forked from the run holds it too, until it ends.
    """

    __slots__ = ("_folder", "_handle", "is_held")

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._handle = -1
        self.is_held = False

    def __enter__(self) -> FolderLock:
        try:
            make_folders(self._folder)
            self._handle = os.open(os.path.join(self._folder, "lock"), _LOCK, 0o666)
        except OSError:
            return self
        with contextlib.suppress(OSError):
            self._wait()
            self.is_held = True
        return self

    def _wait(self) -> None:
        """Lock the file, waiting until that is possible, and say so if it takes long. Raises OSError without locks."""
        if _locked(self._handle):
            return
        speaks = time.monotonic() + PATIENCE
        while not _locked(self._handle):
            time.sleep(_SECONDS_BETWEEN)
            if time.monotonic() > speaks:
                say(f"opwright: waiting for another run, which has locked {self._folder}\n")
                speaks = math.inf

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._handle >= 0:
            os.close(self._handle)
            self._handle = -1
            self.is_held = False


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
