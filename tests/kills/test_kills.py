"""A short version of `make kills`."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest


@pytest.mark.skipif(not os.path.exists("/dev/fd") or not hasattr(os, "fork"), reason="processes cannot be copied here")
def test_runs_that_are_killed() -> None:
    """Nothing is lost and nothing left, whichever call of the system a run is killed at, and no process lives on."""
    command = [sys.executable, "-m", "tests.kills", "--count", "24", "--seed", "5"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=500, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    kills, ended = [int(word) for word in done.stdout.split() if word.isdecimal()][:2]
    assert kills == 24
    assert ended > 15
