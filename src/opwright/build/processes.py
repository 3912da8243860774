"""How many processes can work at once."""

from __future__ import annotations

import os
import sys
import threading

__all__ = ["usable_processes"]


def usable_processes() -> int:
    """How many processes can work at once: the processors that this one may use, and 1 where it cannot be copied."""
    if not hasattr(os, "fork") or sys.platform == "darwin" or threading.active_count() > 1:
        # System libraries of macOS do not survive being copied, and neither do locks that another thread holds.
        return 1
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
