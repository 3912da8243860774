"""What all programs share: reports of diagnostics, and exit statuses."""

from __future__ import annotations

import contextlib
import gc
import os
import signal
import sys
from collections.abc import Callable, Iterator
from typing import Final

from opwright.cli.streams import AUTO, FAULTS, OUT_OF_MEMORY, settle_streams, wants_color
from opwright.source.diagnostic import Diagnostics, Fault, FaultsFound
from opwright.source.terminal import say, say_rendered

__all__ = ["BUG", "FAULTS", "SUCCESS", "USAGE", "refuse", "report", "report_missing", "run"]

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

    say_rendered(render_report(diagnostics.sorted(), color=wants_color(color)))


def report_missing(package: str, command: str, brought_by: str) -> int:
    """Say that a command needs a package, and what pip installs for it; gives the exit status."""
    return refuse(command, f"it needs the package {package}: pip install '{brought_by}'")


def refuse(command: str, message: str) -> int:
    """Say what is wrong with the words that a command is called with, and give the exit status."""
    say(f"opwright {command}: error: {message}\n")
    return USAGE


def _abandon_output() -> None:
    """Discard text that cannot be written to standard output, so that Python does not report it again at exit."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def run(command: Callable[[Diagnostics], int], color: str = AUTO) -> int:
    """Run a command and give its exit status: 0, 1 for faults of the input, 70 for a bug of ours.

    The command gets a sink for its diagnostics. Faults that it raises are reported together with those in the sink.
    SIGTERM and SIGHUP end it as Ctrl-C does; the exit status is then 128 plus the number of the signal.
    """
    settle_streams()
    # A run creates many values and drops almost none before it ends, so garbage collection would only cost time.
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
    """Run a command and give its exit status. Faults that it raises go to the sink; other errors are printed here."""
    try:
        status = command(sink)
        sys.stdout.flush()
    except (Fault, FaultsFound) as raised:
        sink.take(raised)
        return FAULTS
    except BrokenPipeError:
        # The reader of our output has closed the pipe.
        _abandon_output()
        return SUCCESS
    except SystemExit as end:
        if end.code:
            raise
        # No command of Opwright's ends like this.
        say("opwright: a plug-in ended the run before it was done\n")
        return FAULTS
    except OSError as error:
        # The user can fix errors of the system, such as a full disk or too many open files.
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
    """A context in which signals that would end this process at once raise KeyboardInterrupt, so that it cleans up.

    Gives the list that they are put into. Only the first raises: what cleans up is not interrupted.
    """
    import threading

    stops: list[signal.Signals] = []
    signals = (getattr(signal, name, None) for name in ("SIGTERM", "SIGHUP"))
    # A signal that the user ignores (`nohup`) stays ignored. Only the main thread can handle signals.
    is_main = threading.current_thread() is threading.main_thread()
    ending = [number for number in signals if is_main and number and signal.getsignal(number) is signal.SIG_DFL]

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
