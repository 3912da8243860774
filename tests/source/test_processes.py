"""How many processes a run may use."""

from __future__ import annotations

import _thread
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from opwright.source.child import usable_processes


@pytest.mark.alone
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


_HOST = """\
import os, sys, threading
import opwright

def refuse():
    raise AssertionError("a host with threads was copied")

if hasattr(os, "fork"):
    os.register_at_fork(before=refuse)
end = threading.Event()
threads = [threading.Thread(target=end.wait) for _ in range(10)]
for thread in threads:
    thread.start()
try:
    catalog = opwright.load(sys.argv[1])
    folders = opwright.build_folders(sys.argv[2])
    request = opwright.Request(opwright.open_inputs(sys.argv[1]), folders, families=("headers", "declarations_yaml"))
    print(opwright.generate(request, sys.argv[2]).summary.written)
    print(opwright.generate(request, sys.argv[2]).summary.written)
finally:
    end.set()
"""


@pytest.mark.thorough
def test_a_host_with_threads_is_not_copied(tmp_path: Path) -> None:
    """In a process with ten more threads the library works in that process alone, and nothing warns."""
    command = [sys.executable, "-W", "error", "-X", "dev", "-c", _HOST, "auto", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    first, second = done.stdout.split()
    assert (done.returncode, done.stderr) == (0, "")
    assert int(first) > 3000
    assert second == "0"


def test_no_process_is_made_where_none_can_be(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever allows many processes does not make them possible."""
    monkeypatch.delattr(os, "fork")
    assert usable_processes(8) == 1
    assert usable_processes() == 1
