"""How many processes can work at once."""

from __future__ import annotations

import os
import sys
import threading

__all__ = ["usable_processes"]


def usable_processes(most: int | None = None) -> int:
    """How many processes can work at once, `most` at most.

    It is 1 if this process cannot be forked, else the number of processors that it may use.
    """
    usable = _processors()
    return usable if most is None else min(usable, most)


def _processors() -> int:
    # System libraries of macOS do not survive a fork, and neither do locks that another thread holds.
    if not hasattr(os, "fork") or sys.platform == "darwin" or _has_other_threads():
        return 1
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _has_other_threads() -> bool:
    """Whether other threads run in this process, those that Python does not know of included where the system tells."""
    try:
        return len(os.listdir("/proc/self/task")) > 1
    except OSError:
        return threading.active_count() > 1
