"""Processes that have imported PyTorch, which takes over a second: copies of one that did nothing else."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from opwright.migrate.importing import process
from opwright.source.child import python_command

_PROGRAM = """
import gc, json, os, sys, torch
folders = sys.path[1:]
gc.freeze()
for line in sys.stdin:
    (text, *words), place, variables, outputs = json.loads(line)
    copy = os.fork()
    if not copy:
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        for number, path in enumerate(outputs, 1):
            os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), number)
        os.chdir(place)
        os.environ.clear()
        os.environ.update(variables)
        sys.path[:] = [*filter(None, variables.get("PYTHONPATH", "").split(os.pathsep)), *folders]
        sys.argv = ["-c", *words]
        exec(text, {"__name__": "__main__"})
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(0)
    print(os.waitstatus_to_exitcode(os.waitpid(copy, 0)[1]), flush=True)
"""


@pytest.fixture(scope="session")
def torch_process(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TorchProcess]:
    """A process with PyTorch and what it needs, of which copies are made."""
    starter = TorchProcess(tmp_path_factory.mktemp("torch_process"))
    yield starter
    starter.end()


@pytest.fixture(autouse=True)
def _quick_answers(torch_process: TorchProcess, monkeypatch: pytest.MonkeyPatch) -> None:
    """What `opwright import` and `opwright coverage` ask processes with PyTorch, such copies answer."""
    if hasattr(os, "fork"):
        monkeypatch.setattr(process, "run_limited", torch_process.run)


class TorchProcess:
    """Runs the commands of `python_command` in copies of a process, which starts when it is first asked."""

    def __init__(self, folder: Path) -> None:
        self._outputs = [folder / "stdout", folder / "stderr"]
        self._process: subprocess.Popen[str] | None = None

    def run(self, command: Sequence[str], _seconds: float) -> subprocess.CompletedProcess[str]:
        """What `run_limited` returns."""
        assert command[:2] == python_command(sys.executable, "")[:2]
        if self._process is None:
            program = [sys.executable, "-c", _PROGRAM]
            variables = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
            pipe = subprocess.PIPE
            self._process = subprocess.Popen(program, stdin=pipe, stdout=pipe, text=True, env=variables)
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        task = [command[2:], os.getcwd(), dict(os.environ), list(map(str, self._outputs))]
        print(json.dumps(task), file=self._process.stdin, flush=True)
        status = int(self._process.stdout.readline())
        return subprocess.CompletedProcess(
            command, status, *[path.read_text(errors="replace") for path in self._outputs]
        )

    def end(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.communicate()
