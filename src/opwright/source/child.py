"""Child processes that are copies of this one, and that end when this one ends.

A child and its parent share two pipes: one for the child's results, and one, the lifeline, on which the parent tells
the child single bytes. The lifeline breaks when the parent ends, however it ends, because nobody else holds it. The
child then stops what it does, cleans up after itself, and is gone within a second.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import IO, Final, NoReturn

__all__ = ["Child", "Parent"]

_SECONDS_TO_CLEAN: Final = 0.5
"""How long a child whose parent is gone may take to clean up."""

_SECONDS_TO_END: Final = 30
"""How long a parent waits for a child that was told to end, before it kills it."""

_PAUSE: Final = 0.0005, 0.05
"""The first and the longest pause between two looks at a process that is about to end, in seconds."""

_STOPS: Final = ("SIGINT", "SIGTERM", "SIGHUP")
"""The signals by which users and systems stop programs."""

#: The parent's ends of the pipes of all its children: a child closes those that it inherits.
_parent_ends: set[int] = set()


class Parent:
    """What a child knows of its parent.

    `results` is the stream that the parent reads.
    """

    def __init__(self, results: IO[bytes], lifeline: int) -> None:
        import queue

        self.results = results
        self._lifeline = lifeline
        self._process = os.getppid()
        self._told: queue.SimpleQueue[bytes] = queue.SimpleQueue()

    def wait_for_byte(self) -> bytes:
        """The next byte that the parent tells, which is waited for; KeyboardInterrupt where it tells nothing more."""
        return self._told.get()

    def watch(self) -> None:
        """Watch the lifeline in a thread, which interrupts the main thread when it breaks."""
        import _thread

        _thread.start_new_thread(self._watch, (_thread.get_ident(),))

    def _watch(self, main_thread: int) -> None:
        while byte := os.read(self._lifeline, 1):
            self._told.put(byte)
        # A parent that lives waits, and kills a child that does not end; a child without parent sees to that itself.
        left = _SECONDS_TO_CLEAN
        while left > 0:
            # A signal that comes right before the main thread waits for something does not end the wait: one more does.
            signal.pthread_kill(main_thread, signal.SIGUSR1)
            time.sleep(_PAUSE[1])
            if os.getppid() != self._process:
                left -= _PAUSE[1]
        os._exit(1)


class Child:
    """A copy of this process that does some work and ends; `work` gets what the child knows of its parent.

    The caller knows that this process can be copied. Raises OSError where the system refuses another process.
    """

    def __init__(self, work: Callable[[Parent], None]) -> None:
        results, send = os.pipe()
        listen, tell = os.pipe()
        _parent_ends.update((results, tell))
        # No signal may come before the child is ready for it: it would go on with what its parent is about to do.
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
        """Let signals come again; where one ends this process, nobody else would end the child."""
        try:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        except BaseException:
            if hasattr(self, "results"):
                self.end()
            raise

    def tell(self, byte: bytes) -> None:
        """Tell the child a byte. A child that has ended does not hear it."""
        with contextlib.suppress(BrokenPipeError):
            os.write(self._tell, byte)

    def release(self) -> None:
        """Let the child end: it is told nothing more, and what it still does is interrupted."""
        if self._tell >= 0:
            self._close(self._tell)
            self._tell = -1
        if not self.results.closed:
            _parent_ends.discard(self.results.fileno())
            self.results.close()

    def end(self) -> None:
        """Release the child and wait until it is gone."""
        self.release()
        deadline = time.monotonic() + _SECONDS_TO_END
        pause = _PAUSE[0]
        # Where a program has its children reaped by the system, there is none to wait for.
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
    """The signals that stop programs, without those that this one was told to ignore."""
    signals = [getattr(signal, name) for name in _STOPS]
    return [number for number in signals if signal.getsignal(number) is not signal.SIG_IGN]


def _live(work: Callable[[Parent], None], send: int, listen: int, mask: set[int | signal.Signals]) -> NoReturn:
    """The life of a child. However it ends, it does not go on with what its parent is about to do."""
    try:
        try:
            for end in _parent_ends:
                os.close(end)
            _parent_ends.clear()
            interrupt = _interrupter()
            for number in (*_stops(), signal.SIGUSR1):
                signal.signal(number, interrupt)
            with os.fdopen(send, "wb") as results:
                parent = Parent(results, listen)
                parent.watch()
                signal.pthread_sigmask(signal.SIG_SETMASK, mask)
                work(parent)
        finally:
            os._exit(0)
    finally:
        # The one interrupt that there can be came right before the line above.
        os._exit(1)


def _interrupter() -> Callable[[int, object], None]:
    """A handler of signals that interrupts what is done now, once; what then cleans up is not interrupted."""
    came: list[int] = []

    def interrupt(number: int, frame: object) -> None:
        del frame
        came.append(number)
        if len(came) == 1:
            raise KeyboardInterrupt

    return interrupt
