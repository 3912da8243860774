"""What the tests of compiled backends share: a device in the memory of the host, and runs of checks on it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import opwright
from opwright.cli.main import main
from tests.compile.compiler import Compiler
from tests.compile.conftest import program, torch

__all__ = ["HERE", "RunChecks", "build_backend", "device_object", "program", "run_checks", "torch"]

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
#: Opwright's own headers, which generated code may include.
INCLUDE = Path(opwright.__file__).parent / "include"

BuildBackend = Callable[[Path], Path]
RunChecks = Callable[[Path, str], dict[str, str]]


def backend_compiler(program: str, folder: Path, *includes: Path, prefix: Path | None = None) -> Compiler:
    """The compiler, with the headers of the device, and maybe with a header that all files begin with."""
    return Compiler(program, folder, [*includes, INCLUDE, HERE], prefix=prefix)


@pytest.fixture(scope="session")
def device_object(program: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The compiled device, without operators but those that every device needs."""
    return backend_compiler(program, tmp_path_factory.mktemp("device")).object(HERE / "device.cpp")


@pytest.fixture(scope="session")
def build_backend(program: str, device_object: Path, tmp_path_factory: pytest.TempPathFactory) -> BuildBackend:
    """Generates and compiles the backend of a folder with `acme.yaml` and `kernels.cpp`, and gives its library.

    Backends with many sources have a header `prefix.h`, which is compiled once.
    """

    def build(folder: Path) -> Path:
        out = tmp_path_factory.mktemp(folder.name)
        command = ["generate", "--backend", str(folder / "acme.yaml"), "--torch", "auto", "--out", str(out)]
        assert main(command) == 0
        built = tmp_path_factory.mktemp(f"{folder.name}_build")
        prefix = folder / "prefix.h"
        compiler = backend_compiler(program, built, out, folder, prefix=prefix if prefix.exists() else None)
        sources = [folder / "kernels.cpp", *sorted(out.glob("Register*.cpp"))]
        return compiler.link("backend", [device_object, *[compiler.object(source) for source in sources]])

    return build


@pytest.fixture(scope="session")
def run_checks() -> RunChecks:
    """Runs the checks of a module on a backend in a process of their own: name -> what failed, empty if nothing."""

    def run(library: Path, module: str) -> dict[str, str]:
        command = [sys.executable, "-m", "tests.backend.checks", str(library), module]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, [str(ROOT), *sys.path]))}
        done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr[-3000:]
        return dict(json.loads(line) for line in done.stdout.splitlines())

    return run
