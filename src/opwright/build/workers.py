"""Work shared between processes that are copies of this one, so that what is loaded is there in each.

Tasks are numbers, which each process takes one at a time until none is left. All files are complete before any
process puts one in place of an old one: a fault in one process discards what all of them staged.
"""

from __future__ import annotations

import contextlib
import gc
import os
from collections.abc import Callable, Iterator, Sequence
from typing import IO, TYPE_CHECKING, Final, Generic, TypeVar

from opwright.build.codes import WRITE_FAILED
from opwright.build.writer import Writer
from opwright.source.diagnostic import Fault

if TYPE_CHECKING:
    from opwright.source.diagnostic import Diagnostic

__all__ = ["MOST_TASKS", "share_work"]

MOST_TASKS: Final = 256
"""How many tasks there can be: one is a byte in a pipe."""

Share = TypeVar("Share")

_COMMIT: Final = b"c"


class _Worker(Generic[Share]):
    """Another process with its share of the tasks."""

    def __init__(self, work: Callable[[Writer, Iterator[int]], Share], tasks: int) -> None:
        results, send = os.pipe()
        listen, verdict = os.pipe()
        self.process = os.fork()
        if not self.process:
            os.close(results)
            os.close(verdict)
            _work_apart(work, tasks, send, listen)
        os.close(send)
        os.close(listen)
        self._results: IO[bytes] = os.fdopen(results, "rb")
        self._verdict = verdict

    def share(self) -> Share:
        """What the process did; raises its Fault."""
        share: Share = self._received()
        return share

    def commit(self) -> None:
        """Lets the process put its files in place; raises its Fault."""
        with contextlib.suppress(BrokenPipeError):
            os.write(self._verdict, _COMMIT)
        self._received()

    def end(self) -> None:
        """Ends the process, which discards what it has not committed."""
        os.close(self._verdict)
        self._results.close()
        os.waitpid(self.process, 0)

    def _received(self) -> Share:
        import pickle

        try:
            kind, value = pickle.load(self._results)
        except (EOFError, pickle.UnpicklingError):
            raise Fault.at(WRITE_FAILED, "a worker process ended before its files were written") from None
        if kind == "fault":
            diagnostic: Diagnostic = value
            raise Fault(diagnostic)
        if kind == "bug":
            raise RuntimeError(f"in a worker process:\n{value}")
        share: Share = value
        return share


def _work_apart(work: Callable[[Writer, Iterator[int]], object], tasks: int, send: int, listen: int) -> None:
    """The life of another process. It never returns."""
    import pickle

    try:
        with os.fdopen(send, "wb") as results:
            message: tuple[str, object]
            try:
                with Writer() as writer:
                    share = work(writer, _taken(tasks))
                    pickle.dump(("share", share), results)
                    results.flush()
                    if os.read(listen, 1) != _COMMIT:
                        writer.discard()
                message = ("share", None)
            except Fault as fault:
                message = ("fault", fault.diagnostic)
            except Exception:
                import traceback

                message = ("bug", traceback.format_exc())
            with contextlib.suppress(OSError):
                pickle.dump(message, results)
                results.flush()
    finally:
        # Whatever happens, this copy must not go on with what the first process is about to do.
        os._exit(0)


def _taken(tasks: int) -> Iterator[int]:
    """Tasks, as long as there are any; each goes to one process."""
    while byte := os.read(tasks, 1):
        yield byte[0]


def share_work(
    processes: int,
    tasks: Sequence[int],
    work: Callable[[Writer, Iterator[int]], Share],
    check: Callable[[Sequence[Share]], None],
) -> list[Share]:
    """What each process did with the tasks that it took. The first one is this process.

    `check` gets all shares before anything is put in place, and may raise. Raises the Fault of any process.
    """
    reading, writing = os.pipe()
    os.write(writing, bytes(tasks))
    os.close(writing)
    # What is loaded so far stays as it is: collecting garbage would only write to memory that processes share.
    gc.freeze()
    workers: list[_Worker[Share]] = []
    try:
        workers += [_Worker(work, reading) for _ in range(processes - 1)]
        with Writer() as writer:
            shares = [work(writer, _taken(reading)), *[worker.share() for worker in workers]]
            check(shares)
            for worker in workers:
                worker.commit()
        return shares
    finally:
        for worker in workers:
            worker.end()
        os.close(reading)
