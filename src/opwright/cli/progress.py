"""The progress bar that a run shows on a terminal."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, Protocol

from opwright.cli.color import AUTO, wants_color
from opwright.files.plan import PlannedFile

__all__ = ["progress"]

_SECONDS_BETWEEN: Final = 0.1


class Reporter(Protocol):
    """A function that the engine calls for each file."""

    def __call__(self, planned: PlannedFile, written: bool) -> None:
        """Report a file that is done; `written` tells whether it differed."""


@contextmanager
def progress(color: str = AUTO) -> Iterator[Reporter | None]:
    """A reporter that moves a bar on standard error, or None if that is not a terminal.

    `color` is a choice of `--color`.

    The bar is redrawn by the reporter alone and not by a thread: a process with threads cannot be copied to share the
    work.
    """
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    # The total is unknown until all files are made, and other processes make some of them, so the bar has no total.
    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    console = Console(stderr=True, no_color=not wants_color(color))
    with Progress(*columns, console=console, transient=True, auto_refresh=False) as bar:
        bar.add_task("writing", total=None)
        bar.refresh()
        drawn = time.monotonic()

        def report(planned: PlannedFile, written: bool) -> None:
            del planned, written
            nonlocal drawn
            now = time.monotonic()
            if now - drawn > _SECONDS_BETWEEN:
                drawn = now
                bar.refresh()

        yield report
