"""Virtual environments with the wheel of Opwright, for one interpreter each."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from tests.pythons.interpreters import Interpreter

__all__ = ["ROOT", "Environment", "NotInstalled", "TestRun"]

ROOT = Path(__file__).resolve().parents[2]

_COUNT = re.compile(r"(\d+) (passed|failed|errors?|skipped)")


class NotInstalled(Exception):
    """An environment cannot have what it needs; the text is what pip says."""


class TestRun(NamedTuple):
    """What a run of pytest came to."""

    passed: int
    failed: int
    skipped: int
    status: int
    seconds: float


class Environment:
    """A new virtual environment in a folder, which an older one there makes way for; `words` start its Python."""

    def __init__(self, interpreter: Interpreter, folder: Path) -> None:
        self.interpreter = interpreter
        self.folder = folder
        self.python = folder / "bin" / "python"
        self.words = [*interpreter.enter, str(self.python)]
        self.remove()
        subprocess.run([*interpreter.enter, interpreter.path, "-m", "venv", str(folder)], check=True)

    def install(self, requirements: Sequence[str], flags: Sequence[str] = ()) -> None:
        """Install packages. Raises NotInstalled if pip does not find them or cannot install them."""
        command = ["-m", "pip", "--disable-pip-version-check", "install", "--quiet", *flags, *requirements]
        done = subprocess.run([*self.words, *command], capture_output=True, text=True, check=False)
        if done.returncode:
            errors = [line for line in done.stderr.splitlines() if line.startswith("ERROR")]
            raise NotInstalled((errors or done.stderr.splitlines() or ["pip failed"])[-1])

    def torch(self) -> str:
        """The version of PyTorch, which names its build."""
        return subprocess.run(
            [*self.words, "-c", "import torch; print(torch.__version__)"], capture_output=True, text=True, check=True
        ).stdout.strip()

    def test(self, arguments: Sequence[str], log: Path) -> TestRun:
        """Run pytest with the installed wheel, not with the sources; `log` gets what it prints."""
        # Tests start programs of the environment, such as mypy and cmake, by their names.
        path = os.pathsep.join([str(self.python.parent), os.environ.get("PATH", "")])
        command = [*self.words, "-m", "pytest", "-q", "--rootdir", str(ROOT), "-c", "pyproject.toml", *arguments]
        started = time.monotonic()
        with log.open("w") as stream:
            status = subprocess.run(
                command, cwd=ROOT, env={**os.environ, "PATH": path}, stdout=stream, stderr=stream, check=False
            ).returncode
        closing = next((line for line in reversed(log.read_text().splitlines()) if _COUNT.search(line)), "")
        counts = {kind.rstrip("s"): int(number) for number, kind in _COUNT.findall(closing)}
        failed = counts.get("failed", 0) + counts.get("error", 0)
        seconds = time.monotonic() - started
        return TestRun(counts.get("passed", 0), failed, counts.get("skipped", 0), status, seconds)

    def remove(self) -> None:
        """Remove the environment: one with PyTorch for CUDA takes some gigabytes."""
        shutil.rmtree(self.folder, ignore_errors=True)
