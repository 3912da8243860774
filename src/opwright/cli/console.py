"""What all programs share: how they report, and with which status they exit."""

from __future__ import annotations

import contextlib
import gc
import os
import sys
from collections.abc import Callable
from typing import Final

from opwright.cli.color import AUTO, wants_color
from opwright.cli.streams import settle_streams
from opwright.source.diagnostic import Diagnostics, Fault, FaultsFound

__all__ = ["BUG", "FAULTS", "SUCCESS", "USAGE", "report", "run"]

SUCCESS: Final = 0
FAULTS: Final = 1
USAGE: Final = 2
BUG: Final = 70

_REPORT_A_BUG: Final = (
    "opwright: this is a bug of Opwright, not of your input. "
    "Please report it with the lines above and the command that you ran."
)


def report(diagnostics: Diagnostics, color: str = AUTO) -> None:
    """Print diagnostics to standard error, in order, with their lines. `color` is a choice of `--color`."""
    if not len(diagnostics):
        return
    from opwright.source.render import render_report

    # A reader who has gone away is told nothing more.
    with contextlib.suppress(BrokenPipeError):
        sys.stderr.write(render_report(diagnostics.sorted(), color=wants_color(color)))
        sys.stderr.flush()


def _abandon_output() -> None:
    """Drop what standard output cannot take, so that Python does not complain once more when it shuts down."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def run(command: Callable[[Diagnostics], int], color: str = AUTO) -> int:
    """Run a command and give its exit status: 0, 1 for faults of the input, 70 for a bug of ours.

    The command gets a sink for its diagnostics; what it raises is reported together with what it put there.
    """
    settle_streams()
    # A run makes many values and drops none before it ends, so that looking for garbage only costs time.
    gc.disable()
    sink = Diagnostics()
    try:
        status = command(sink)
        sys.stdout.flush()
    except (Fault, FaultsFound) as raised:
        sink.take(raised)
        status = FAULTS
    except KeyboardInterrupt:
        sys.stderr.write("opwright: interrupted\n")
        return 130
    except BrokenPipeError:
        # Whoever read our output has enough.
        _abandon_output()
        return SUCCESS
    except OSError as error:
        # What the system refuses is for the user to mend: a full disk behind standard output, too many open files.
        sys.stderr.write(f"opwright: {error}\n")
        _abandon_output()
        status = FAULTS
    except Exception:
        import traceback

        traceback.print_exc()
        sys.stderr.write(_REPORT_A_BUG + "\n")
        status = BUG
    report(sink, color)
    return FAULTS if status == SUCCESS and sink.has_errors else status
