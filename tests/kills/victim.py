"""A run that is killed right before one of its calls of the system.

The run is a copy of this process, so that it starts in no time, and leads a process group of its own. Its calls are
those that Python tells of (`open`, `rename`, `mkdir`, `remove` ...) and writes, on paths below one folder.
"""

from __future__ import annotations

import os
import select
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

__all__ = ["ENDS", "LONGEST", "NOBODY", "Death", "Ended", "killed_run"]

CALLS = frozenset({"open", "os.rename", "os.mkdir", "os.rmdir", "os.remove", "os.chmod", "os.listdir", "os.scandir"})

LONGEST = 1.0
"""How many seconds a process may outlive the run that it belongs to."""

_GIVEN_UP = 60.0


class Death(NamedTuple):
    """How a run ends: at which call, counted in its first process or in each of the others, by which signal, and whom
    the signal is sent to: the `group`, the `first` process or the process that makes the call (`caller`)."""

    call: int
    in_first: bool
    number: signal.Signals
    whom: str


class Ended(NamedTuple):
    """How a run ended: its exit status as `waitpid` tells it, the number of calls that each process made which came to
    its end, the first process before the others, and the seconds that any process outlived the first."""

    status: int
    calls: tuple[list[int], list[int]]
    outlived: float


ENDS = (
    (signal.SIGKILL, "group"),
    (signal.SIGKILL, "first"),
    (signal.SIGKILL, "caller"),
    (signal.SIGTERM, "group"),
    (signal.SIGTERM, "first"),
    (signal.SIGINT, "group"),
)
NOBODY = Death(0, True, signal.SIGKILL, "group")


class _Counter:
    """Counts the calls of this process, and sends the signal at the chosen one."""

    def __init__(self, death: Death, below: Path, report: int) -> None:
        self.made = 0
        self.first = os.getpid()
        self.is_first = True
        self._death = death
        self._below = str(below)
        self._report = report
        self._write, self._exit = os.write, os._exit
        os.register_at_fork(after_in_child=self._begin)
        sys.addaudithook(self._hear)
        os.write, os._exit = self._counted_write, self._reported_exit  # type: ignore[assignment]

    def _begin(self) -> None:
        self.made, self.is_first = 0, False

    def _hear(self, event: str, arguments: tuple[object, ...]) -> None:
        is_call = event in CALLS and str(arguments[0]).startswith(self._below)
        if is_call:
            self._count()

    def _counted_write(self, handle: int, data: bytes) -> int:
        self._count()
        return self._write(handle, data)

    def _count(self) -> None:
        self.made += 1
        death = self._death
        if self.made != death.call or self.is_first is not death.in_first:
            return
        if death.whom == "group":
            os.killpg(0, death.number)
        else:
            os.kill(self.first if death.whom == "first" else os.getpid(), death.number)

    def _reported_exit(self, status: int) -> None:
        self._write(self._report, f"{int(self.is_first)} {self.made}\n".encode())
        self._exit(status)


def killed_run(run: Callable[[], object], death: Death, below: Path) -> Ended:
    """Make a run (which ends its process) in a copy of this process, until it is killed or done.

    Raises AssertionError where a process outlives the first one by more than a minute.
    """
    report, told = os.pipe()
    first = os.fork()
    if not first:
        os.close(report)
        _live(run, death, below, told)
    os.close(told)
    _, status = os.waitpid(first, 0)
    ended = time.monotonic()
    text = b""
    # The pipe breaks when the last process that has inherited it is gone.
    while select.select([report], [], [], _GIVEN_UP)[0]:
        some = os.read(report, 4096)
        if not some:
            break
        text += some
    else:
        raise AssertionError(f"after {_GIVEN_UP} s a process of the run is still there")
    os.close(report)
    calls: tuple[list[int], list[int]] = ([], [])
    for line in text.decode().splitlines():
        is_first, made = line.split()
        calls[0 if is_first == "1" else 1].append(int(made))
    return Ended(status, calls, time.monotonic() - ended)


def _live(run: Callable[[], object], death: Death, below: Path, told: int) -> None:
    """The life of the copy."""
    try:
        os.setpgid(0, 0)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        silent = os.open(os.devnull, os.O_WRONLY)
        os.dup2(silent, 1)
        os.dup2(silent, 2)
        _Counter(death, below, told)
        run()
    finally:
        os._exit(99)
