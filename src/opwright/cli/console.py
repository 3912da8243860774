"""What all programs share: how they report, and with which status they exit."""

from __future__ import annotations

import contextlib
import gc
import os
import signal
import sys
from collections.abc import Callable, Iterator
from typing import Final

from opwright.cli.color import AUTO, wants_color
from opwright.cli.streams import FAULTS, OUT_OF_MEMORY, say, settle_streams
from opwright.source.diagnostic import Diagnostics, Fault, FaultsFound

__all__ = ["BUG", "FAULTS", "SUCCESS", "USAGE", "report", "run"]

SUCCESS: Final = 0
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

    say(render_report(diagnostics.sorted(), color=wants_color(color)))


def _abandon_output() -> None:
    """Drop what standard output cannot take, so that Python does not complain once more when it shuts down."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def run(command: Callable[[Diagnostics], int], color: str = AUTO) -> int:
    """Run a command and give its exit status: 0, 1 for faults of the input, 70 for a bug of ours.

    The command gets a sink for its diagnostics; what it raises is reported together with what it put there. SIGTERM and
    SIGHUP end it as Ctrl-C does, and the exit status is then 128 and the number of the signal.
    """
    settle_streams()
    # A run makes many values and drops none before it ends, so that looking for garbage only costs time.
    gc.disable()
    sink = Diagnostics()
    with _stopped_in_order() as stops:
        try:
            status = _status_of(command, sink)
        except KeyboardInterrupt:
            number = stops[0] if stops else signal.SIGINT
            say("opwright: interrupted\n" if number == signal.SIGINT else f"opwright: ended by {number.name}\n")
            return 128 + number
    report(sink, color)
    return FAULTS if status == SUCCESS and sink.has_errors else status


def _status_of(command: Callable[[Diagnostics], int], sink: Diagnostics) -> int:
    """A command's exit status. What it raises is put into the sink, or said here."""
    try:
        status = command(sink)
        sys.stdout.flush()
    except (Fault, FaultsFound) as raised:
        sink.take(raised)
        return FAULTS
    except BrokenPipeError:
        # Whoever read our output has enough.
        _abandon_output()
        return SUCCESS
    except OSError as error:
        # What the system refuses is for the user to fix: a full disk behind standard output, too many open files.
        say(f"opwright: {error}\n")
        _abandon_output()
        return FAULTS
    except MemoryError:
        say(OUT_OF_MEMORY)
        return FAULTS
    except Exception:
        import traceback

        say(traceback.format_exc() + _REPORT_A_BUG + "\n")
        return BUG
    return status


@contextlib.contextmanager
def _stopped_in_order() -> Iterator[list[signal.Signals]]:
    """Within the context, signals that would end this process at once raise KeyboardInterrupt, so that it cleans up.

    Gives the list that they are put into. Only the first raises: what cleans up is not interrupted.
    """
    stops: list[signal.Signals] = []
    signals = (getattr(signal, name, None) for name in ("SIGTERM", "SIGHUP"))
    # A signal that the user wants ignored (`nohup`) stays so, and only the main thread hears of signals at all.
    ending = [number for number in signals if number is not None and signal.getsignal(number) is signal.SIG_DFL]
    if not _is_main_thread():
        ending = []

    def stop(number: int, frame: object) -> None:
        del frame
        stops.append(signal.Signals(number))
        if len(stops) == 1:
            raise KeyboardInterrupt

    for number in ending:
        signal.signal(number, stop)
    try:
        yield stops
    finally:
        for number in ending:
            signal.signal(number, signal.SIG_DFL)


def _is_main_thread() -> bool:
    import threading

    return threading.current_thread() is threading.main_thread()
