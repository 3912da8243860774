"""Runs with plug-ins are confirmed: a plug-in that ends the process does not pass for a run that is done.

Nothing in a process can catch `os._exit`. So before a program imports its first plug-in, it continues in a child, and
the process that the user started waits for it. A run that is done says so; if the child ends without that, it is an
error. Where the system cannot tell who sent a signal, programs go on as they are.
"""

from __future__ import annotations

import os
import signal
import sys
from typing import Final, NoReturn

from opwright.cli import console, streams
from opwright.source.codes import ENDED
from opwright.source.diagnostic import Diagnostics

__all__ = ["continue_in_child"]

_WATCHED: Final = ("SIGCHLD", "SIGINT", "SIGTERM", "SIGHUP")


def continue_in_child() -> None:
    """Continue the program in a child, and end this process as the child ends."""
    if sys.platform != "linux":
        return
    signals = [getattr(signal, name) for name in _WATCHED]
    reading, writing = os.pipe()
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    # Where whoever started the program ignores ends of children, there would be no status to wait for.
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, signals)
    process = os.fork()
    if process:
        os.close(writing)
        _wait(process, reading, signals)
    os.close(reading)
    signal.pthread_sigmask(signal.SIG_SETMASK, mask)
    streams.confirm_to(writing)


def _wait(process: int, reading: int, signals: list[signal.Signals]) -> NoReturn:
    """Pass on signals until a child ends, and end this process as it did, if it says that it was done."""
    while True:
        information = signal.sigwaitinfo(signals)
        if information.si_signo != signal.SIGCHLD:
            # A terminal sends its signals to the child too; others have sent them to this process alone.
            if information.si_pid:
                os.kill(process, information.si_signo)
            continue
        ended, status = os.waitpid(process, os.WNOHANG)
        if ended:
            break
    code = os.waitstatus_to_exitcode(status)
    if code < 0:
        signal.signal(-code, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        os.kill(os.getpid(), -code)
        os._exit(128 - code)
    # A process that a plug-in started may hold the other end for long.
    os.set_blocking(reading, False)
    try:
        is_done = bool(os.read(reading, 1))
    except BlockingIOError:
        is_done = False
    if not is_done:
        sink = Diagnostics()
        message = f"a plug-in ended the process with the exit status {code}, before the run was done"
        sink.error(ENDED, message, help="raise an exception in place of `os._exit`")
        console.report(sink)
    os._exit(code if is_done else console.FAULTS)
