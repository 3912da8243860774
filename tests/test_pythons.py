"""What a Python does that is too old, and what the newest ones will refuse."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import warnings
from pathlib import Path

import pytest

from tests.pythons.debian import NEWEST
from tests.pythons.interpreters import OLDEST, old_interpreters

SOURCES = Path(__file__).resolve().parents[1] / "src"

NO_OLDER = "no older Python is installed"

#: How programs start, up to their arguments: a command, a drop-in, a worker of Bazel.
STARTS = {
    "command": ["-m", "opwright"],
    "drop-in": ["-m", "opwright.torchgen.gen"],
    "worker": ["-I", "-S", "-B", "-c", f"import sys; sys.path[:0] = [{str(SOURCES)!r}]; from opwright.cli import main"],
}


def test_pages_name_the_pythons_that_are_tested() -> None:
    """The table of Pythons, the README, what an index shows, and the jobs of continuous integration agree."""
    root = SOURCES.parent
    oldest, newest = OLDEST[1], NEWEST[1]
    series = [f"3.{minor}" for minor in range(oldest, newest + 1)]
    metadata = (root / "pyproject.toml").read_text("utf-8")
    assert re.findall(r'"Programming Language :: Python :: (3\.\d+)"', metadata) == series
    page = (root / "docs" / "installation.md").read_text("utf-8").partition("### Pythons\n")[2].partition("\n###")[0]
    rows = [name for names in re.findall(r"(?m)^\| (3\.[\d., ]+) \| all tests", page) for name in names.split(", ")]
    assert rows == series
    assert f"tests run with {series[0]} to {series[-1]}" in (root / "README.md").read_text("utf-8")
    jobs = (root / ".github" / "workflows" / "test.yml").read_text("utf-8")
    assert re.findall(r"(?m)^        python: \[(.*)\]$", jobs) == [", ".join(f'"{name}"' for name in series)]


def test_the_package_parses_everywhere() -> None:
    """The module that tells a Python that it is too old has the syntax of 3.6, without later features."""
    text = (SOURCES / "opwright" / "__init__.py").read_text(encoding="utf-8")
    tree = ast.parse(text, feature_version=(3, 6))
    modules = [node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    assert "__future__" not in modules


@pytest.mark.thorough
@pytest.mark.parametrize("start", STARTS)
def test_a_python_that_is_too_old(start: str) -> None:
    """It gives one sentence and the status of wrong usage."""
    for interpreter in old_interpreters() or pytest.skip(NO_OLDER):
        done = subprocess.run(
            [interpreter.path, *STARTS[start], "--version"],
            env={**os.environ, "PYTHONPATH": str(SOURCES)},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 2, interpreter
        assert done.stdout == "", interpreter
        older = f"Python {interpreter.name}: {interpreter.path}"
        assert done.stderr == f"opwright: error: Opwright needs Python 3.10 or newer, and this is {older}\n"


def test_a_host_that_is_too_old(tmp_path: Path) -> None:
    """A program that imports the package gets an ImportError, which it can handle."""
    program = tmp_path / "host.py"
    program.write_text("try:\n    import opwright\nexcept ImportError as error:\n    print(error)\n")
    environment = {**os.environ, "PYTHONPATH": str(SOURCES)}
    for interpreter in old_interpreters() or pytest.skip(NO_OLDER):
        command = [interpreter.path, str(program)]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        assert done.stdout == f"Opwright needs Python 3.10 or newer, and this is Python {interpreter.name}\n"


@pytest.mark.thorough
def test_no_module_warns_when_it_is_compiled() -> None:
    """No module has what a later Python will refuse, such as invalid escapes in texts."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for path in SOURCES.rglob("*.py"):
            compile(path.read_text(encoding="utf-8"), str(path), "exec")
