"""Programs that run for some seconds, and end with all that they started."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from opwright.migrate.limited import TooSlow, run_limited

#: A program that starts another one, which has its output open, and says which.
PARENT = """\
import subprocess, sys
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
open(sys.argv[1], "w").write(str(child.pid))
{end}
"""
WAITS = "child.wait()"
ENDS = "sys.exit(3)"
CALLER = """
import signal, sys
from opwright.migrate.limited import run_limited
signal.signal(signal.SIGINT, signal.default_int_handler)
run_limited(sys.argv[1:], 600)
"""


def _has_ended(process: int) -> bool:
    """Whether a process ends within seconds."""
    for _ in range(200):
        try:
            os.kill(process, 0)
            state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
        except (ProcessLookupError, FileNotFoundError):
            return True
        if state == "Z":
            return True
        time.sleep(0.05)
    return False


def _command(end: str, note: Path) -> list[str]:
    return [sys.executable, "-c", PARENT.format(end=end), str(note)]


pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="asks the system for processes")


def test_a_program_in_time() -> None:
    """Its output, its complaint and its status are kept, and it has no input."""
    text = "import sys; print(repr(sys.stdin.read())); sys.stderr.buffer.write(b'\\xff'); sys.exit(4)"
    done = run_limited([sys.executable, "-c", text], 60)
    assert (done.returncode, done.stdout, done.stderr) == (4, "''\n", "\ufffd")


def test_a_slow_program_ends_with_its_children(tmp_path: Path) -> None:
    """Both have ended once the error is raised."""
    note = tmp_path / "child"
    with pytest.raises(TooSlow, match="took more than 3 seconds"):
        run_limited(_command(WAITS, note), 3)
    assert _has_ended(int(note.read_text()))


def test_what_a_program_leaves_ends_with_it(tmp_path: Path) -> None:
    """A child that keeps the output open is not waited for."""
    note = tmp_path / "child"
    assert run_limited(_command(ENDS, note), 300).returncode == 3
    assert _has_ended(int(note.read_text()))


def test_an_interrupt_ends_all(tmp_path: Path) -> None:
    """Ctrl-C reaches the process that waits, and no other group: it ends the program and its children.

    Where tests run in the background, processes begin with interrupts ignored.
    """
    note = tmp_path / "child"
    with subprocess.Popen([sys.executable, "-c", CALLER, *_command(WAITS, note)], stderr=subprocess.DEVNULL) as caller:
        for _ in range(600):
            if note.exists() and note.read_text():
                break
            time.sleep(0.05)
        caller.send_signal(signal.SIGINT)
    assert caller.returncode
    assert _has_ended(int(note.read_text()))


def test_a_program_that_is_not_there() -> None:
    """The error is that of the system."""
    with pytest.raises(FileNotFoundError):
        run_limited(["opwright-has-no-such-program"], 60)
