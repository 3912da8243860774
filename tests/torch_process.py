"""Processes that have imported PyTorch, which takes over a second: copies of one that did nothing else."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from opwright.migrate.importing import process
from opwright.source.child import python_command
from tests.copies import CopiedProcess


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
        monkeypatch.setattr(process, "run_limited", torch_process.answer)


class TorchProcess(CopiedProcess):
    """Runs the commands of `python_command` in copies of a process with PyTorch."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, "import torch")

    def answer(self, command: Sequence[str], _seconds: float) -> subprocess.CompletedProcess[str]:
        """What `run_limited` returns."""
        assert command[:2] == python_command(sys.executable, "")[:2]
        return self.run(command[2], command[3:])
