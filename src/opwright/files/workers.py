"""Work shared between forked processes, so that each has what this one loaded.

Tasks are numbers, which each process takes one at a time until none is left. No process replaces an old file before all
files are complete: a fault in one process discards what all of them staged.
"""

from __future__ import annotations

import contextlib
import gc
import os
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, Final, TypeVar

from opwright.files.staging import Journal
from opwright.files.writer import Writer
from opwright.source.child import Child, Parent
from opwright.source.codes import WRITE_FAILED
from opwright.source.diagnostic import Fault

MOST_TASKS: Final = 256
"""The largest number of tasks: each is a byte in a pipe."""

Share = TypeVar("Share")

_COMMIT: Final = b"c"


def _receive(child: Child) -> Any:  # noqa: ANN401
    """What the work of another process gave. Raises its Fault."""
    import pickle

    try:
        kind, value = pickle.load(child.results)
    except (EOFError, pickle.UnpicklingError):
        raise Fault.at(WRITE_FAILED, "a worker process ended before its files were written") from None
    if kind == "fault":
        raise Fault(value)
    if kind == "refused":
        raise value
    if kind == "bug":
        raise RuntimeError(f"in a worker process:\n{value}")
    return value


def _work_apart(
    work: Callable[[Writer, Iterator[int]], object], tasks: int, journal: Journal | None, parent: Parent
) -> None:
    import pickle

    message: tuple[str, object]
    try:
        # The work ends before the writer discards or commits, which must not be interrupted: a fault, or a pipe that
        # the parent has closed, may end the work just before the parent's interrupt comes.
        with Writer(journal) as writer, parent.work:
            share = work(writer, _take_tasks(tasks))
            writer.arrive()
            pickle.dump(("share", share), parent.results)
            parent.results.flush()
            # A parent that does not want the files interrupts this process instead, and the writer discards them.
            parent.wait_for_byte()
        message = ("share", None)
    except Fault as fault:
        message = ("fault", fault.diagnostic)
    except (OSError, MemoryError) as refusal:
        message = ("refused", refusal)
    except Exception:
        import traceback

        message = ("bug", traceback.format_exc())
    with contextlib.suppress(OSError):
        pickle.dump(message, parent.results)
        parent.results.flush()


def _take_tasks(tasks: int) -> Iterator[int]:
    """Take tasks as long as there are any; each goes to one process."""
    while byte := os.read(tasks, 1):
        yield byte[0]


def share_work(
    processes: int,
    tasks: Sequence[int],
    work: Callable[[Writer, Iterator[int]], Share],
    check: Callable[[Sequence[Share]], None],
    journal: Journal | None = None,
) -> list[Share]:
    """Result of each process for the tasks that it took; the first result is this process's.

    `check` gets all results before anything is put in place, and may raise. Raises the Fault of any process.
    """
    reading, writing = os.pipe()
    os.write(writing, bytes(tasks))
    os.close(writing)
    # Collecting garbage would write to memory that the processes share.
    gc.freeze()
    children: list[Child] = []
    try:
        # If the system refuses another process, there is one less.
        with contextlib.suppress(OSError):
            for _ in range(processes - 1):
                children.append(Child(partial(_work_apart, work, reading, journal)))
        with Writer(journal) as writer:
            shares = [work(writer, _take_tasks(reading)), *map(_receive, children)]
            check(shares)
            writer.arrive()
            for child in children:
                child.tell(_COMMIT)
                _receive(child)
        return shares
    finally:
        # All are released before the first is waited for, so that they end at the same time. Released ones discard what
        # they have not committed.
        for child in children:
            child.release()
        for child in children:
            child.end()
        os.close(reading)
        gc.unfreeze()
