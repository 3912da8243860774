"""A folder in memory, where thousands of files that nobody keeps cost a tenth of what they cost on a disk."""

from __future__ import annotations

import contextlib
import os
import sys
from typing import Final

_FOLDER: Final = "/dev/shm"


def memory_folder(space: int) -> str | None:
    """A folder in memory with so many bytes free; None if there is none.

    >>> memory_folder(1 << 60) is None
    True
    """
    if sys.platform == "win32":
        return None
    with contextlib.suppress(OSError):
        status = os.statvfs(_FOLDER)
        if os.access(_FOLDER, os.W_OK) and status.f_bavail * status.f_frsize > space:
            return _FOLDER
    return None
