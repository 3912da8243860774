"""A short version of `make kills`."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest


@pytest.mark.forks
@pytest.mark.skipif(not os.path.exists("/dev/fd"), reason="the system does not list open files")
def test_runs_that_are_killed() -> None:
    """Nothing is lost and nothing left, whichever call of the system a run is killed at, and no process lives on."""
    command = [sys.executable, "-m", "tests.kills", "--count", "4", "--seed", "5", "--only", "generations"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=500, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    kills, ended = [int(word) for word in done.stdout.split() if word.isdecimal()][:2]
    assert kills == 4
    assert ended > 1


@pytest.mark.thorough
@pytest.mark.skipif(sys.platform != "linux", reason="other systems can neither exchange files nor reserve them")
def test_fixes_that_are_disturbed() -> None:
    """Nothing is lost and nothing left when someone saves a file while it is fixed, or the run is killed, or both."""
    command = [sys.executable, "-m", "tests.kills", "--count", "45", "--seed", "5", "--only", "fixes"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=500, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    fixes, killed, saves = [int(word) for word in done.stdout.split() if word.isdecimal()][:3]
    assert (fixes, saves) == (45, 36)
    assert killed > 15
