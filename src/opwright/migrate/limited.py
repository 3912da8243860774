"""Programs that others wrote, which may run for some seconds: after that they end with all that they started."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import tempfile
from collections.abc import Sequence
from typing import Final

#: How many seconds a program may take that a command waits for. Compilers need minutes for the largest sources.
PROGRAM_SECONDS: Final = 600


class TooSlow(Exception):
    """A program has not ended in its time. The text says so, without the name of the program."""


def run_limited(command: Sequence[str], seconds: float) -> subprocess.CompletedProcess[str]:
    """Run a program and keep what it writes. Whatever ends the wait also ends the program and its children.

    The output goes to files: who reads a pipe would wait for each process that has it open. Raises TooSlow, and
    OSError if the program cannot be run.

    >>> import sys
    >>> run_limited([sys.executable, "-c", "print(2)"], 60).stdout
    '2\\n'
    """
    has_groups = hasattr(os, "killpg")
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as complaint:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=output, stderr=complaint, start_new_session=has_groups
        )
        try:
            process.wait(seconds)
        except subprocess.TimeoutExpired:
            raise TooSlow(f"took more than {seconds:g} seconds") from None
        finally:
            # What a program leaves behind ends with it, also when Ctrl-C or an error ends the wait.
            if has_groups:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.killpg(process.pid, signal.SIGKILL)
            elif process.poll() is None:
                process.kill()
            process.wait()
        texts = []
        for file in (output, complaint):
            file.seek(0)
            texts.append(file.read().decode(errors="replace").replace("\r\n", "\n"))
    return subprocess.CompletedProcess(command, process.returncode, *texts)
