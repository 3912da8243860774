"""Copies of the checkout in which mutants run, and what the tests of the original reach."""

from __future__ import annotations

import contextlib
import hashlib
import json
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
_SURVIVED = (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED)
#: Coverage starts in each program of the sandbox, as its environment imports this at the start of Python. The programs
#: that a test starts count to the test; what a fixture does counts to no test, as others may read what it leaves.
_RECORDER = """
import os
import coverage
test, _, phase = os.environ.get("PYTEST_CURRENT_TEST", "").rpartition(" ")
recording = coverage.Coverage(config_file={config!r}, auto_data=True, context=test if phase == "(call)" else None)
recording._warn_no_data = recording._warn_unimported_source = False
recording.start()
"""
#: A plug-in of pytest: what runs in its own process counts to the test that is called, whose time it takes.
_OBSERVER = """
import json
from pathlib import Path
import pytest
from sandbox_recorder import recording
seconds = {{}}
@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    recording.switch_context(item.nodeid)
    try:
        return (yield)
    finally:
        recording.switch_context("")
def pytest_runtest_logreport(report):
    seconds[report.nodeid] = seconds.get(report.nodeid, 0) + report.duration
def pytest_sessionfinish():
    Path({seconds!r}).write_text(json.dumps(seconds))
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
    #: How long each test takes.
    tests: dict[str, float]
    #: The digest of each module of the package, and by line the numbers of the tests that call it; none for a line that
    #: the import of a module or a fixture reaches.
    lines: dict[str, tuple[str, dict[str, list[int]]]]

    def reaches(self, mutant: Mutant) -> bool:
        """Whether the tests run the statement of a mutant. If its module has changed since, its lines tell nothing."""
        of_module, lines = self.lines.get(mutant.module, ("", {}))
        return bool(lines) and (
            of_module != text_digest(mutant.original) or any(str(line) in lines for line in mutant.statement)
        )

    def callers(self, mutant: Mutant) -> dict[str, float]:
        """The tests that call the statement of a mutant themselves, and how long each takes."""
        of_module, lines = self.lines.get(mutant.module, ("", {}))
        if of_module != text_digest(mutant.original):
            return {}
        names = list(self.tests)
        numbers = {number for line in mutant.statement for number in lines.get(str(line), ())}
        callers = {names[number]: self.tests[names[number]] for number in sorted(numbers)}
        return {name: seconds for name, seconds in callers.items() if name not in self.failing}


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
        times = self._recording / "seconds.json"
        (self._packages / "sandbox_observer.py").write_text(_OBSERVER.format(seconds=str(times)), encoding="utf-8")
        hook = self._packages / "sandbox_recorder.pth"
        hook.write_text("import sandbox_recorder\n", encoding="utf-8")
        started = time.monotonic()
        failing = self._failing(test, "-p", "sandbox_observer")
        seconds = time.monotonic() - started
        hook.unlink()
        if failing:
            failing = self._failing(test)
        tests = json.loads(times.read_text(encoding="utf-8")) if times.exists() else {}
        lines = self._lines({name: number for number, name in enumerate(tests)})
        return Reached(digest_of(test, self._root), round(seconds, 1), failing, tests, lines)

    def _failing(self, test: str, *options: str) -> list[str]:
        _, output = self._run([*options, test, "-rfE"], 1200)
        return re.findall(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", output, re.MULTILINE)

    def _lines(self, numbers: dict[str, int]) -> dict[str, tuple[str, dict[str, list[int]]]]:
        lines: dict[str, dict[int, set[int]]] = {}
        for path in self._recording.glob("lines.*"):
            data = coverage.CoverageData(str(path))
            # Programs that tests kill leave damaged files.
            with contextlib.suppress(coverage.CoverageException):
                data.read()
                for name in data.measured_files():
                    of_module = lines.setdefault(Path(name).relative_to(self._root).as_posix(), {})
                    for line, tests in data.contexts_by_lineno(name).items():
                        of_module.setdefault(line, set()).update(numbers[test] for test in tests if test in numbers)
        return {
            module: (digest(self._root / module), {str(line): sorted(of_module[line]) for line in sorted(of_module)})
            for module, of_module in sorted(lines.items())
            if of_module
        }

    def outcome(self, mutant: Mutant, runs: list[list[str]], seconds: float) -> str:
        """Make runs of tests with a mutant until one kills it: `killed`, `timeout` or `survived`.

        Only in the last run, of whole modules, is it a failure that a named test is not there.
        """
        try:
            self._write(mutant.module, mutant.text())
            for words in runs:
                status, _ = self._run(["-x", *words], seconds)
                if status is None:
                    return "timeout"
                if status not in _SURVIVED and (status != pytest.ExitCode.USAGE_ERROR or words is runs[-1]):
                    return "killed"
        finally:
            self._write(mutant.module, mutant.original)
        return "survived"

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
