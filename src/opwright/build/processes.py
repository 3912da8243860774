"""How many processes can work at once."""

from __future__ import annotations

import os
import sys
import threading

__all__ = ["usable_processes"]


def usable_processes(most: int | None = None) -> int:
    """How many processes can work at once, but at most so many: 1 where this one cannot be copied.

    Else they are as many as the processors that this one may use.
    """
    usable = _usable()
    return usable if most is None else min(usable, most)


def _usable() -> int:
    if not hasattr(os, "fork") or sys.platform == "darwin" or threading.active_count() > 1:
        # System libraries of macOS do not survive being copied, and neither do locks that another thread holds.
        return 1
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
