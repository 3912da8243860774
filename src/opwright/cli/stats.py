"""What `--stats` prints: the work of a run by emitter, and its seconds by stage."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from opwright.run.generation import Outcome
    from opwright.run.session import Session

__all__ = ["print_stats"]

_HEAD = ("emitter", "files made", "files reused", "fragments made", "fragments reused")


def print_stats(session: Session, outcome: Outcome) -> None:
    """Print how many files and fragments each emitter made and reused, and the seconds of each stage.

    A file counts as made if its text was put together in this run, whether or not it differed from the file on disk.
    A fragment counts as reused if its text was taken out of a file on disk, or if no file needed it.
    """
    rows = [
        # The number at the end tells emitters of one name apart.
        (name.removesuffix(" 1"), counts.files_made, counts.files_reused, counts.made, counts.reused)
        for name, counts in sorted(outcome.fragments.items())
    ]
    totals = [sum(column) for column in zip(*[row[1:] for row in rows], strict=True)] or [0] * (len(_HEAD) - 1)
    _print_table([_HEAD, *[row for row in rows if row[1] or row[3]], ("all emitters", *totals)])
    print()
    _print_table([("stage", "seconds"), *[(stage, f"{seconds:.3f}") for stage, seconds in session.seconds.items()]])


def _print_table(rows: Iterable[Sequence[object]]) -> None:
    texts = [[str(f"{value:,}" if isinstance(value, int) else value) for value in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*texts, strict=True)]
    for first, *others in texts:
        cells = [text.rjust(width) for text, width in zip(others, widths[1:], strict=True)]
        print("  ".join([first.ljust(widths[0]), *cells]))
