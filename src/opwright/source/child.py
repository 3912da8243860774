"""Child processes: copies of this process that end when it ends, how many can work at once, and programs for others.

A child and its parent share two pipes: one for the child's results, and one, the lifeline, on which the parent sends
the child single bytes. Only the parent holds the writing end of the lifeline, so the lifeline breaks when the parent
ends for any reason. The child then interrupts its work, cleans up and ends within a second.
"""

from __future__ import annotations

import _thread
import contextlib
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from typing import IO, Final, NoReturn

_SECONDS_TO_CLEAN: Final = 0.5
"""How many seconds a child may clean up after its parent has ended."""

_SECONDS_TO_END: Final = 30
"""How many seconds a parent waits for a child to end before it kills it."""

_PAUSE: Final = 0.0005, 0.05
"""The first and the longest pause, in seconds, between two checks of a process that is about to end."""

_STOPS: Final = ("SIGINT", "SIGTERM", "SIGHUP")
"""The signals by which users and systems stop programs."""

#: The parent's ends of the pipes of all its children: a child closes those that it inherits.
_parent_ends: set[int] = set()


def python_command(python: str, text: str) -> list[str]:
    """The words that run a text in another Python, before those for `sys.argv`, as `-c` does.

    Nothing is imported from the working folder, where Python looks first. Python 3.10 has no option for it.
    """
    return [python, os.path.join(os.path.dirname(__file__), "child_program"), text]


class Parent:
    """A child's connection to its parent. `results` is the stream that the parent reads.

    `work` is a context for work that may be interrupted. When it ends, so that the cleanup begins, nothing interrupts
    the child any more, whatever ended the work.
    """

    def __init__(self, results: IO[bytes], lifeline: int, work: _Interruptible) -> None:
        import queue

        self.results = results
        self.work = work
        self._lifeline = lifeline
        self._process = os.getppid()
        self._told: queue.SimpleQueue[bytes] = queue.SimpleQueue()

    def wait_for_byte(self) -> bytes:
        """Wait for the next byte from the parent. Raises KeyboardInterrupt if the parent sends nothing more."""
        return self._told.get()

    def watch(self) -> None:
        """Start a thread that interrupts the main thread when the lifeline breaks."""
        _thread.start_new_thread(self._watch, (_thread.get_ident(),))

    def _watch(self, main_thread: int) -> None:
        while byte := os.read(self._lifeline, 1):
            self._told.put(byte)
        # A living parent waits for its child and kills it if it does not end. Without a parent, the child has to do
        # that.
        left = _SECONDS_TO_CLEAN
        while left > 0:
            # A signal just before the main thread starts to wait does not end the wait, so send another one.
            signal.pthread_kill(main_thread, signal.SIGUSR1)
            time.sleep(_PAUSE[1])
            if os.getppid() != self._process:
                left -= _PAUSE[1]
        os._exit(1)


class Child:
    """A copy of this process that runs `work` and ends; `work` gets the connection to the parent.

    The caller knows that this process can be copied. Raises OSError if the system refuses another process.
    """

    def __init__(self, work: Callable[[Parent], None]) -> None:
        results, send = os.pipe()
        listen, tell = os.pipe()
        _parent_ends.update((results, tell))
        # Block signals until the child is ready for them; otherwise the child would continue the work of its parent.
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, _stops())
        try:
            self.process = os.fork()
        except OSError:
            for end in (results, tell):
                self._close(end)
            raise
        else:
            if not self.process:
                _live(work, send, listen, mask)
            self._tell = tell
            self.results: IO[bytes] = os.fdopen(results, "rb")
        finally:
            os.close(send)
            os.close(listen)
            self._unblock(mask)

    def _unblock(self, mask: set[int | signal.Signals]) -> None:
        """Unblock signals. If one of them ends this process, end the child first, because nobody else would."""
        try:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        except BaseException:
            if hasattr(self, "results"):
                self.end()
            raise

    def tell(self, byte: bytes) -> None:
        """Send the child a byte; do nothing if the child has ended."""
        with contextlib.suppress(BrokenPipeError):
            os.write(self._tell, byte)

    def release(self) -> None:
        """Close the pipes, which interrupts the child's work, without waiting for the child."""
        if self._tell >= 0:
            self._close(self._tell)
            self._tell = -1
        if not self.results.closed:
            _parent_ends.discard(self.results.fileno())
            self.results.close()

    def end(self) -> None:
        """Release the child and wait until it has ended; kill it if that takes too long."""
        self.release()
        deadline = time.monotonic() + _SECONDS_TO_END
        pause = _PAUSE[0]
        # If the program lets the system reap its children, there is nothing to wait for.
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(self.process, os.WNOHANG) == (0, 0):
                if time.monotonic() > deadline:
                    os.kill(self.process, signal.SIGKILL)
                time.sleep(pause)
                pause = min(2 * pause, _PAUSE[1])

    @staticmethod
    def _close(end: int) -> None:
        _parent_ends.discard(end)
        os.close(end)


def _stops() -> list[signal.Signals]:
    """Signals that stop programs, except those that this process ignores."""
    signals = [getattr(signal, name) for name in _STOPS]
    return [number for number in signals if signal.getsignal(number) is not signal.SIG_IGN]


def _live(work: Callable[[Parent], None], send: int, listen: int, mask: set[int | signal.Signals]) -> NoReturn:
    """Run the work of a child and end the process, so that the child never continues the work of its parent."""
    try:
        try:
            for end in _parent_ends:
                os.close(end)
            _parent_ends.clear()
            # An interrupt that comes while a generator is being closed cannot be raised; Python would print it.
            sys.unraisablehook = lambda _: None
            interruptible = _Interruptible()
            for number in (*_stops(), signal.SIGUSR1):
                signal.signal(number, interruptible.interrupt)
            with os.fdopen(send, "wb") as results:
                parent = Parent(results, listen, interruptible)
                parent.watch()
                signal.pthread_sigmask(signal.SIG_SETMASK, mask)
                work(parent)
        finally:
            os._exit(0)
    finally:
        # The only possible interrupt came just before the line above.
        os._exit(1)


class _Interruptible:
    """Work that signals interrupt once. An interrupt ends the work, and the cleanup afterwards is not interrupted.

    >>> work = _Interruptible()
    >>> with work:
    ...     pass
    >>> work.interrupt(signal.SIGUSR1, None)
    """

    __slots__ = ("_has_ended",)

    def __init__(self) -> None:
        self._has_ended = False

    def __enter__(self) -> None:
        return None

    def __exit__(self, *exception: object) -> None:
        self._has_ended = True

    def interrupt(self, number: int, frame: object) -> None:
        """Signal handler."""
        del number, frame
        if not self._has_ended:
            self._has_ended = True
            raise KeyboardInterrupt


def usable_processes(most: int | None = None) -> int:
    """How many processes can work at once, `most` at most.

    It is 1 if this process cannot be forked, else the number of processors that it may use.
    """
    # System libraries of macOS do not survive a fork, and neither do locks that another thread holds.
    if not hasattr(os, "fork") or sys.platform == "darwin" or _has_other_threads():
        return 1
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return usable if most is None else min(usable, most)


def _has_other_threads() -> bool:
    """Whether other threads run in this process, those that Python does not know of included where the system tells."""
    try:
        return len(os.listdir("/proc/self/task")) > 1
    except OSError:
        return threading.active_count() > 1
