"""What a run shows while it works: a bar on a terminal, nothing elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from opwright.build.plan import Planned

__all__ = ["progress"]


class Reporter(Protocol):
    """Hears of each file as it is done."""

    def __call__(self, planned: Planned, written: bool) -> None:
        """One file is done; `written` tells whether it differed."""


@contextmanager
def progress(total: int | None = None) -> Iterator[Reporter | None]:
    """A reporter that moves a bar on standard error, or None where that is no terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn("files"))
    with Progress(*columns, console=Console(stderr=True), transient=True, refresh_per_second=8) as bar:
        task = bar.add_task("writing", total=total)
        count = 0

        def report(planned: Planned, written: bool) -> None:
            del planned, written
            nonlocal count
            count += 1
            # The bar redraws some times a second; telling it of every one of thousands of files costs more than
            # writing them.
            if count % 64 == 0:
                bar.update(task, completed=count)

        yield report
        bar.update(task, completed=count)
