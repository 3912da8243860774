"""What the tests of compiled backends share: a device in the memory of the host, and runs of checks on it."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import opwright
from opwright.cli.main import main
from opwright.plugins.use import ensure_active
from tests.compile.compiler import Compiler
from tests.compile.conftest import program, torch

__all__ = ["HERE", "backend_compiler", "check_names", "device_object", "failures", "program", "torch"]

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
#: Opwright's headers, which generated code may include.
INCLUDE = Path(opwright.__file__).parent / "libraries" / "include"

#: The plug-ins of the backend in the folder `plugins`.
PLUGINS = [
    *[
        f"../../../examples/plugins/{name}/{name}.py"
        for name in ("deprecation", "tensor_checks", "op_hooks", "cpu_on_failure", "kernel_formats", "register_macro")
    ],
    "acme_views.py",
]


def backend_compiler(program: str, folder: Path, *includes: Path, prefix: Path | None = None) -> Compiler:
    """The compiler, with the headers of the device, and maybe with a header that all files begin with."""
    return Compiler(program, folder, [*includes, INCLUDE, HERE], prefix=prefix)


@pytest.fixture(scope="session")
def device_object(program: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The compiled device, without operators but those that every device needs."""
    return backend_compiler(program, tmp_path_factory.mktemp("device")).object(HERE / "device.cpp")


@pytest.fixture(scope="module")
def failures(
    request: pytest.FixtureRequest, program: str, device_object: Path, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, str]:
    """What each check of `calls.py` finds on the backend of the test's folder: empty if nothing."""
    folder = request.path.parent
    library = build_backend(folder, program, device_object, tmp_path_factory)
    return run_checks(library, f"tests.backend.{folder.name}.calls")


def build_backend(folder: Path, program: str, device_object: Path, temporary: pytest.TempPathFactory) -> Path:
    """Generate and compile the backend of a folder with `acme.yaml` and `kernels.cpp`; gives its library.

    Backends with many sources have a header `prefix.h`, which is compiled once.
    """
    out = temporary.mktemp(folder.name)
    command = ["generate", "--backend", str(folder / "acme.yaml"), "--torch", "auto", "--out", str(out)]
    for name in PLUGINS if folder.name == "plugins" else ():
        command += ["--plugin", str(folder / name)]
    assert main(command) == 0
    ensure_active(())
    built = temporary.mktemp(f"{folder.name}_build")
    prefix = folder / "prefix.h"
    includes = out, out / "include", folder
    compiler = backend_compiler(program, built, *includes, prefix=prefix if prefix.exists() else None)
    sources = [folder / "kernels.cpp", *sorted(out.glob("Register*.cpp"))]
    return compiler.link("backend", [device_object, *[compiler.object(source) for source in sources]])


def run_checks(library: Path, module: str) -> dict[str, str]:
    """Run the checks of a module on a backend in a process of their own: name -> what failed, empty if nothing."""
    command = [sys.executable, "-m", "tests.backend.checks", str(library), module]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, [str(ROOT), *sys.path]))}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return dict(json.loads(line) for line in done.stdout.splitlines())


def check_names(folder: Path) -> list[str]:
    """The names of the checks in `calls.py` of a folder, which only a process with the backend can import."""
    body = ast.parse((folder / "calls.py").read_text(encoding="utf-8")).body
    return [node.name for node in body if isinstance(node, ast.FunctionDef) and node.name.startswith("check_")]
