"""What the tests of compiled code share: the compiler, PyTorch, and runs of the program."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from tests.compile.compiler import compiler_program

Generate = Callable[..., Path]


@pytest.fixture(scope="session")
def program() -> str:
    """The C++ compiler."""
    compiler = compiler_program()
    if compiler is None:
        pytest.skip("there is no C++ compiler")
    return compiler


@pytest.fixture(scope="session")
def torch(program: str) -> ModuleType:
    """PyTorch, imported when the first test needs it."""
    from importlib import import_module

    return import_module("torch")


@pytest.fixture(scope="session")
def generate(tmp_path_factory: pytest.TempPathFactory) -> Generate:
    """Runs `opwright generate` with some arguments and gives the folder that it wrote."""

    def run(*arguments: object) -> Path:
        out = tmp_path_factory.mktemp("generated")
        command = [sys.executable, "-m", "opwright", "generate", "--out", str(out), *map(str, arguments)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return out

    return run
