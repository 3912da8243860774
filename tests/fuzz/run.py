"""One fuzzing run: damage, load, emit, and look that nothing but diagnostics inside the file came of it."""

from __future__ import annotations

import ctypes
import resource
import signal
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from random import Random
from types import FrameType

from opwright.source.diagnostic import Diagnostic, Diagnostics, Fault, FaultsFound
from opwright.source.render import render_report, render_short
from opwright.source.text import SourceFile
from tests.conformance.process import RSS_UNIT
from tests.fuzz.damage import damaged, damaged_bytes
from tests.fuzz.structure import changed_entries
from tests.fuzz.targets import Target

#: How much processor time a text may take, and how many times as much in all: the loader may be asleep, but a machine
#: that is busy gives a process of low priority no second of a minute.
SLOWEST_SECONDS = 5.0
BUSY_FACTOR = 60.0


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
    """Raise TooSlow in the block when it takes more than `seconds` of processor time, or many times as long in all."""

    def expire(_number: int, _file_slots: FrameType | None) -> None:
        raise TooSlow(f"still loading after {seconds} s")

    timers = ((signal.SIGALRM, signal.ITIMER_REAL, BUSY_FACTOR), (signal.SIGPROF, signal.ITIMER_PROF, 1.0))
    previous = [signal.signal(number, expire) for number, _, _ in timers]
    for _, timer, factor in timers:
        signal.setitimer(timer, seconds * factor)
    try:
        yield
    finally:
        for (number, timer, _), handler in zip(timers, previous, strict=True):
            signal.setitimer(timer, 0)
            signal.signal(number, handler)


def _peak() -> int:
    """The most bytes that the process had in memory: on Linux since its peak was forgotten."""
    status = Path("/proc/self/status")
    if status.is_file():
        return int(status.read_text(encoding="utf-8").partition("VmHWM:")[2].split()[0]) << 10
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * RSS_UNIT


@contextmanager
def memory_limit(megabytes: int) -> Iterator[None]:
    """Fail if the process needs that much more memory in the block than before.

    Its peak is forgotten first, and memory that it has freed is given back: in a process that had a higher peak, or
    keeps what it once needed, no growth would show.
    """
    if hasattr(ctypes.CDLL(None), "malloc_trim"):
        ctypes.CDLL(None).malloc_trim(0)
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5", encoding="utf-8")
    before = _peak()
    yield
    grown = (_peak() - before) >> 20
    assert grown < megabytes, f"{grown} megabytes more than before"


def damaged_text(target: Target, seed: int) -> str:
    """The text that `seed` stands for: half of them are damaged as texts, half as the entries that they spell."""
    random = Random(f"{target.name} {seed}")
    if target.make is not None:
        return target.make(random)
    text = target.excerpt(random)
    changed = changed_entries(text, random) if target.is_yaml and random.random() < 0.5 else None
    return damaged(text, random) if changed is None else changed


def damaged_file(target: Target, seed: int) -> bytes:
    """The file that `seed` stands for: one in eight is damaged as bytes, the others as texts or entries."""
    random = Random(f"{target.name} {seed} bytes")
    if target.make is None and random.random() < 0.125:
        return damaged_bytes(target.excerpt(random), random)
    return damaged_text(target, seed).encode("utf-8", "surrogatepass")


def fuzz(target: Target, seed: int) -> Finding | None:
    """Load the damaged file that `seed` stands for; a Finding where anything but diagnostics comes of it."""
    data = damaged_file(target, seed)
    text = data.decode("utf-8", "backslashreplace")
    sink = Diagnostics()
    try:
        with time_limit(SLOWEST_SECONDS):
            load_and_render(target, data, sink)
    except (Exception, TooSlow):
        return Finding(target.name, seed, text, traceback.format_exc())
    outside = places_outside(sink)
    return Finding(target.name, seed, text, f"places outside the file: {outside}") if outside else None


def load_and_render(target: Target, data: bytes, sink: Diagnostics) -> None:
    """Load a file and print what was found, as a user would see it."""
    try:
        target.load(SourceFile.decode(target.name, data).text, sink)
    except (Fault, FaultsFound) as raised:
        sink.take(raised)
    diagnostics = sink.sorted()
    render_short(diagnostics)
    render_report(diagnostics, color=True)


def places_outside(sink: Diagnostics) -> list[Diagnostic]:
    """The diagnostics of which some place is not inside its file."""
    return [
        diagnostic
        for diagnostic in sink
        for label in diagnostic.labels
        if not 0 <= label.span.start <= label.span.end <= len(label.span.file.text)
    ]
