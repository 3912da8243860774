"""How many processes a run may use."""

from __future__ import annotations

import _thread
import os
import sys
import threading
from pathlib import Path

import pytest

from opwright.build.processes import usable_processes


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="the system does not list threads")
def test_threads_of_other_libraries_count(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process with a thread that Python's `threading` does not know of is not copied."""
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1, 2}, raising=False)
    listed = os.listdir
    monkeypatch.setattr(os, "listdir", lambda path: ["1"] if path == "/proc/self/task" else listed(path))
    assert usable_processes() == (1 if sys.platform == "darwin" else 3)
    monkeypatch.undo()
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1, 2}, raising=False)
    before, done = threading.active_count(), threading.Event()
    started = threading.Event()

    def wait() -> None:
        started.set()
        done.wait()

    _thread.start_new_thread(wait, ())
    try:
        started.wait()
        assert threading.active_count() == before
        assert usable_processes() == 1
    finally:
        done.set()
