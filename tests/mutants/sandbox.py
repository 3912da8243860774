"""Copies of the checkout in which mutants run, and what the tests of the original reach."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import shutil
import signal
import subprocess
import sys
import sysconfig
import time
from dataclasses import dataclass
from pathlib import Path

import coverage
import pytest

from tests.mutants.mutations import Mutant
from tests.mutants.rooms import PACKAGE, ROOT

_COPIED = ("bench", "docs", "examples", "src", "tests")
_PYTEST = (
    *("-q", "-p", "no:cacheprovider", "-p", "no:random_order", "--hypothesis-seed=0", "--no-header", "--tb=no"),
    *("-m", "not network and not slow and not thorough"),
)
#: Coverage starts in each program of the sandbox, as its environment imports this at the start of Python.
_RECORDER = """
import coverage
recording = coverage.Coverage(config_file={config!r}, auto_data=True)
recording._warn_no_data = recording._warn_unimported_source = False
recording.start()
"""
_CONFIG = """
[run]
data_file = {data}/lines
parallel = true
core = ctrace
source = {source}
disable_warnings = no-data-collected, module-not-measured
patch = _exit
  fork
"""


@dataclass
class Reached:
    """What a test module reaches: lines of the package by module. How long it takes; which of its tests fail anyway."""

    digest: str
    seconds: float
    failing: list[str]
    #: The digest of each module of the package, and the lines.
    lines: dict[str, tuple[str, list[int]]]

    def reaches(self, mutant: Mutant) -> bool:
        """Whether the tests run the statement of a mutant. If its module has changed since, its lines tell nothing."""
        of_module, lines = self.lines.get(mutant.module, ("", []))
        return bool(lines) and (
            of_module != text_digest(mutant.original) or not set(mutant.statement).isdisjoint(lines)
        )


class Sandbox:
    """A copy of the checkout whose environment finds the copied package before the original."""

    def __init__(self, folder: Path) -> None:
        self._root = folder / "checkout"
        self._recording = folder / "recording"
        self._changes = 0
        for name in _COPIED:
            ignored = shutil.ignore_patterns("__pycache__", "build")
            shutil.copytree(ROOT / name, self._root / name, ignore=ignored, symlinks=True)
        for path in ROOT.iterdir():
            if path.is_file():
                shutil.copy2(path, self._root / path.name)
        if (ROOT / ".cache").exists():
            (self._root / ".cache").symlink_to((ROOT / ".cache").resolve())
        self._python, self._packages = _make_environment(self._root)

    def record(self, test: str) -> Reached:
        """Run a test module with the original package, and record what it reaches."""
        shutil.rmtree(self._recording, ignore_errors=True)
        self._recording.mkdir()
        config = self._recording / "coverage.ini"
        config.write_text(_CONFIG.format(data=self._recording, source=self._root / PACKAGE), encoding="utf-8")
        (self._packages / "sandbox_recorder.py").write_text(_RECORDER.format(config=str(config)), encoding="utf-8")
        hook = self._packages / "sandbox_recorder.pth"
        hook.write_text("import sandbox_recorder\n", encoding="utf-8")
        started = time.monotonic()
        failing = self._failing(test)
        seconds = time.monotonic() - started
        hook.unlink()
        if failing:
            failing = self._failing(test)
        return Reached(digest_of(test, self._root), round(seconds, 1), failing, self._lines())

    def _failing(self, test: str) -> list[str]:
        _, output = self._run([test, "-rfE"], 1200)
        return re.findall(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", output, re.MULTILINE)

    def _lines(self) -> dict[str, tuple[str, list[int]]]:
        lines: dict[str, set[int]] = {}
        for path in self._recording.glob("lines.*"):
            data = coverage.CoverageData(str(path))
            # Programs that tests kill leave damaged files.
            with contextlib.suppress(coverage.CoverageException):
                data.read()
                for name in data.measured_files():
                    module = Path(name).relative_to(self._root).as_posix()
                    lines.setdefault(module, set()).update(data.lines(name) or ())
        return {
            module: (digest(self._root / module), sorted(numbers))
            for module, numbers in sorted(lines.items())
            if numbers
        }

    def outcome(self, mutant: Mutant, words: list[str], seconds: float) -> str:
        """Run tests with a mutant: `killed`, `timeout` or `survived`."""
        try:
            self._write(mutant.module, mutant.text())
            status, _ = self._run(["-x", *words], seconds)
        finally:
            self._write(mutant.module, mutant.original)
        if status is None:
            return "timeout"
        return "survived" if status in (0, pytest.ExitCode.NO_TESTS_COLLECTED) else "killed"

    def _write(self, module: str, text: str) -> None:
        """Write a module, with a time of its own: Python, and Opwright's stamps, know a changed file by its time."""
        path = self._root / module
        path.write_text(text, encoding="utf-8")
        self._changes += 1
        when = time.time() - 10_000_000 + 10 * self._changes
        os.utime(path, (when, when))

    def _run(self, words: list[str], seconds: float) -> tuple[int | None, str]:
        """The exit status of pytest and what it prints; None if it takes longer. None of its programs stays behind."""
        command = [self._python, "-m", "pytest", *_PYTEST, *words]
        with subprocess.Popen(
            command,
            cwd=self._root,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        ) as process:
            try:
                output, _ = process.communicate(timeout=seconds)
                return process.returncode, output
            except subprocess.TimeoutExpired:
                return None, ""
            finally:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)


def _make_environment(root: Path) -> tuple[str, Path]:
    """Make an environment that has all packages of this one: its Python, and the folder of its own packages."""
    original, environment = Path(sys.prefix), root / ".venv"
    scripts = environment / "bin"
    scripts.mkdir(parents=True)
    shutil.copy2(original / "pyvenv.cfg", environment)
    for path in (original / "bin").iterdir():
        copied = scripts / path.name
        if path.is_symlink():
            copied.symlink_to(path.readlink())
        elif (start := path.read_bytes()).startswith(b"#!" + os.fsencode(original)):
            copied.write_bytes(start.replace(os.fsencode(original), os.fsencode(environment), 1))
            copied.chmod(0o755)
        else:
            copied.symlink_to(path)
    packages = Path(sysconfig.get_path("purelib"))
    copied_packages = environment / packages.relative_to(original)
    copied_packages.mkdir(parents=True)
    text = f"{root / 'src'}\nimport site; site.addsitedir({str(packages)!r})\n"
    (copied_packages / "sandbox.pth").write_text(text, encoding="utf-8")
    return str(scripts / "python"), copied_packages


def digest_of(test: str, root: Path = ROOT) -> str:
    """A digest of a test module, also of one by which a single test is named."""
    return digest(root / test.partition("::")[0])


def digest(path: Path) -> str:
    """A digest of a file."""
    return text_digest(path.read_text(encoding="utf-8"))


def text_digest(text: str) -> str:
    """A digest of a text."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]
