"""What all programs share: how they report, and with which status they exit."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Callable
from typing import Final

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


def report(diagnostics: Diagnostics) -> None:
    """Print diagnostics to standard error, in order: with their lines, in colour on a terminal."""
    if not len(diagnostics):
        return
    from opwright.source.render import render_terminal

    color = sys.stderr.isatty() and "NO_COLOR" not in os.environ
    sys.stderr.write(render_terminal(diagnostics.sorted(), color=color))
    sys.stderr.flush()


def run(command: Callable[[Diagnostics], int]) -> int:
    """Run a command and give its exit status: 0, 1 for faults of the input, 70 for a bug of ours.

    The command gets a sink for its diagnostics; what it raises is reported together with what it put there.
    """
    # A run makes many values and drops none before it ends, so that looking for garbage only costs time.
    gc.disable()
    sink = Diagnostics()
    try:
        status = command(sink)
    except Fault as fault:
        sink.add(fault.diagnostic)
        status = FAULTS
    except FaultsFound as found:
        for diagnostic in found.diagnostics:
            sink.add(diagnostic)
        status = FAULTS
    except KeyboardInterrupt:
        sys.stderr.write("opwright: interrupted\n")
        return 130
    except BrokenPipeError:
        # Whoever read our output has enough; Python must not complain about it once more when it shuts down.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return SUCCESS
    except Exception:
        import traceback

        traceback.print_exc()
        sys.stderr.write(_REPORT_A_BUG + "\n")
        status = BUG
    report(sink)
    return FAULTS if status == SUCCESS and sink.has_errors else status
