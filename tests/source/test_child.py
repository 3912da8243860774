"""Processes that are copies of this one end when it does."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from opwright.source.child import Child, Parent

pytestmark = pytest.mark.forks


def work_hard(_: Parent) -> None:
    """Never ends by itself, and never waits."""
    while True:
        pass


def sleep_for_ever() -> None:
    """Never ends by itself."""
    while True:
        signal.pause()


def send_much(parent: Parent) -> None:
    """Sends more than the pipe holds."""
    parent.results.write(bytes(2**24))


def wait_for_a_word(parent: Parent) -> None:
    """Waits for what is never told."""
    parent.wait_for_byte()


WORK: dict[str, Callable[[Parent], None]] = {
    "busy": work_hard,
    "asleep": lambda _: sleep_for_ever(),
    "waiting": wait_for_a_word,
    "sending": send_much,
}


def answer(parent: Parent) -> None:
    """Sends back, in capitals, what the parent tells."""
    for _ in range(2):
        parent.results.write(parent.wait_for_byte().upper())
        parent.results.flush()


def test_a_child_is_told_and_answers() -> None:
    """Bytes pass both ways, and the results end with the child."""
    child = Child(answer)
    child.tell(b"a")
    assert child.results.read(1) == b"A"
    child.tell(b"b")
    assert child.results.read() == b"B"
    child.end()


def test_a_child_that_has_ended_hears_nothing() -> None:
    """Telling it something is no fault, and ending it twice neither."""
    child = Child(lambda _: None)
    assert child.results.read() == b""
    child.tell(b"a")
    child.end()
    child.end()


@pytest.mark.parametrize("work", WORK)
def test_children_of_a_killed_parent_end(work: str) -> None:
    """Whatever several children do, none of which ends by itself, they end with their parent."""
    alive, held = os.pipe()
    ready, told = os.pipe()
    parent = os.fork()
    if not parent:
        os.close(alive)
        children = [Child(WORK[work]) for _ in range(3)]
        os.write(told, b"%d" % len(children))
        sleep_for_ever()
        os._exit(0)
    os.close(held)
    assert os.read(ready, 1) == b"3"
    os.kill(parent, signal.SIGKILL)
    os.waitpid(parent, 0)
    # The pipe breaks when nobody holds it any more.
    assert os.read(alive, 1) == b""
    for end in (alive, ready, told):
        os.close(end)


@pytest.mark.thorough
@pytest.mark.parametrize("work", WORK)
def test_children_that_are_not_needed_end_at_once(work: str) -> None:
    """Ending one of several children, none of which ends by itself, waits for no other one."""
    children = [Child(WORK[work]) for _ in range(3)]
    for child in children:
        child.end()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_child_that_is_stopped_cleans_up(tmp_path: Path, number: signal.Signals) -> None:
    """A signal interrupts its work once, and what cleans up is not interrupted by the next one."""
    path = tmp_path / "staged"

    def work(parent: Parent) -> None:
        path.write_text("staged")
        try:
            parent.results.write(b"r")
            parent.results.flush()
            time.sleep(60)
        finally:
            os.kill(os.getpid(), number)
            time.sleep(0.01)
            path.unlink()

    former = signal.signal(number, signal.default_int_handler)
    try:
        child = Child(work)
        assert child.results.read(1) == b"r"
        os.kill(child.process, number)
        assert child.results.read() == b""
        child.end()
    finally:
        signal.signal(number, former)
    assert not path.exists()


def test_a_signal_that_is_ignored_stays_so() -> None:
    """What a program was told to ignore does not end its children either."""
    former = signal.signal(signal.SIGTERM, signal.SIG_IGN)
    try:
        child = Child(answer)
        os.kill(child.process, signal.SIGTERM)
        child.tell(b"ab")
        assert child.results.read() == b"AB"
        child.end()
    finally:
        signal.signal(signal.SIGTERM, former)


def test_children_that_the_system_reaps_are_no_fault() -> None:
    """A program that ignores the end of its children has none to wait for."""
    former = signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    try:
        child = Child(answer)
        child.end()
    finally:
        signal.signal(signal.SIGCHLD, former)


@pytest.mark.alone
def test_no_process_left_behind_when_none_can_be_made(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the system refuses a process, no end of a pipe stays open."""

    def refused() -> int:
        raise BlockingIOError("no more processes")

    monkeypatch.setattr(os, "fork", refused)
    before = os.listdir("/dev/fd")
    with pytest.raises(BlockingIOError):
        Child(answer)
    assert len(os.listdir("/dev/fd")) == len(before)


class ClosedSlowly:
    """An object whose finalizer takes long enough to be interrupted."""

    def __del__(self) -> None:
        """Wait."""
        time.sleep(60)


def test_an_interrupted_finalizer_prints_nothing(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Python can only print an interrupt that comes while an object is finalized; a user must not see that."""
    # The tests have a hook of their own, which prints nothing.
    monkeypatch.setattr(sys, "unraisablehook", sys.__unraisablehook__)

    def finalize(parent: Parent) -> None:
        parent.results.write(b"x")
        parent.results.flush()
        ClosedSlowly()

    child = Child(finalize)
    assert child.results.read(1) == b"x"
    time.sleep(0.1)
    child.end()
    assert capfd.readouterr().err == ""
