"""A run in a copy of this process that is stopped at a line of some modules."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Set
from types import FrameType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from _typeshed import TraceFunction

__all__ = ["run_traced"]


def run_traced(
    run: Callable[[], int],
    modules: Set[str],
    *,
    killed_at: int = 0,
    paused_at: int = 0,
    pause: Callable[[int], None] = lambda report: None,
) -> tuple[int, int]:
    """Run a function in a copy of this process; its status as `waitpid` tells it, and the lines of the modules it ran.

    The copy is killed before the line with a number, counted over all the modules (named by their files) from 1. At
    another line it pauses: the function gets a handle, and while any process has it open, this function waits.
    """
    report, told = os.pipe()
    child = os.fork()
    if not child:
        os.close(report)
        _live(run, modules, killed_at, {paused_at: lambda: pause(told)}, told)
    os.close(told)
    with open(report) as stream:
        text = stream.read()
    _, status = os.waitpid(child, 0)
    return status, int(text or 0)


def _live(
    run: Callable[[], int], modules: Set[str], killed_at: int, pauses: dict[int, Callable[[], None]], told: int
) -> None:
    """The life of the copy."""
    try:
        silent = os.open(os.devnull, os.O_WRONLY)
        os.dup2(silent, 1)
        os.dup2(silent, 2)
        made = 0

        def count(frame: FrameType, event: str, _: object) -> TraceFunction | None:
            nonlocal made
            if frame.f_code.co_filename not in modules:
                return None
            if event == "line":
                made += 1
                if made in pauses:
                    pauses[made]()
                if made == killed_at:
                    os.kill(os.getpid(), signal.SIGKILL)
            return count

        sys.settrace(count)
        status = run()
        sys.settrace(None)
        os.write(told, str(made).encode())
        os._exit(status)
    finally:
        os._exit(99)
