"""One fuzzing run: damage, load, and look that nothing but diagnostics came of it."""

from __future__ import annotations

import signal
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from random import Random
from types import FrameType

from opwright.source.diagnostic import Diagnostics, Fault, FaultsFound
from opwright.source.render import render_short, render_terminal
from tests.fuzz.damage import damaged
from tests.fuzz.targets import Target

SLOWEST_SECONDS = 5.0


class TooSlow(BaseException):
    """Raised in the loader when it takes too long; not an Exception, so that no handler there swallows it."""


@dataclass(frozen=True)
class Finding:
    """A text that brought a loader down, with the seed that makes it again."""

    target: str
    seed: int
    text: str
    report: str


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raise TooSlow in the block when it runs longer than `seconds`."""

    def expire(_number: int, _frame: FrameType | None) -> None:
        raise TooSlow(f"still loading after {seconds} s")

    previous = signal.signal(signal.SIGALRM, expire)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)


def fuzz(target: Target, seed: int) -> Finding | None:
    """Load the damaged text that `seed` stands for; a Finding where anything but diagnostics comes of it."""
    random = Random(f"{target.name} {seed}")
    text = damaged(target.excerpt(random), random)
    sink = Diagnostics()
    try:
        with time_limit(SLOWEST_SECONDS):
            load_and_render(target, text, sink)
    except (Exception, TooSlow):
        return Finding(target.name, seed, text, traceback.format_exc())
    return None


def load_and_render(target: Target, text: str, sink: Diagnostics) -> None:
    """Load `text` and print what was found, as a user would see it."""
    try:
        target.load(text, sink)
    except Fault as fault:
        sink.add(fault.diagnostic)
    except FaultsFound as found:
        for diagnostic in found.diagnostics:
            sink.add(diagnostic)
    diagnostics = sink.sorted()
    render_short(diagnostics)
    render_terminal(diagnostics, color=True)
