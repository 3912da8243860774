"""The core in a build with CMake, as in the build of PyTorch."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.core.__main__ import contents, write_folder
from tests.core.closure import Closure
from tests.engine.project import Project

GENERATORS = {"Ninja": "ninja", "Unix Makefiles": "make"}
#: The command has the words of docs/core.md.
PROJECT = """\
cmake_minimum_required(VERSION 3.21)
project(example NONE)
set(top ${CMAKE_BINARY_DIR}/aten/src/ATen)
add_custom_command(
  COMMENT "Generating ATen"
  OUTPUT ${CMAKE_BINARY_DIR}/gen_headers.stamp ${top}/Functions.h
  COMMAND ${PYTHON} ${CORE} gen --source-path ${INPUTS} --install_dir ${top} --generate headers --release 2.13
    --per-operator-headers --prune --depfile ${CMAKE_BINARY_DIR}/gen_headers.d
    --stamp ${CMAKE_BINARY_DIR}/gen_headers.stamp
  DEPFILE ${CMAKE_BINARY_DIR}/gen_headers.d
)
add_custom_target(generated ALL DEPENDS ${top}/Functions.h)
"""

pytestmark = pytest.mark.skipif(shutil.which("cmake") is None, reason="there is no CMake here")


def run(*words: object) -> str:
    """What a program prints; it must succeed."""
    done = subprocess.run([*map(str, words)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.thorough
@pytest.mark.parametrize("generator", ["Ninja", "Unix Makefiles"])
def test_build(project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, generator: str) -> None:
    """A build generates, and the next does nothing; an edit of an input, or of the core itself, generates again.

    What is no longer made is removed.
    """
    if shutil.which(GENERATORS[generator]) is None:
        pytest.skip(f"there is no {GENERATORS[generator]} here")
    monkeypatch.setenv("OPWRIGHT_CACHE_DIR", str(tmp_path / "cache"))
    core, source, build = tmp_path / "opwright-core", tmp_path / "source", tmp_path / "build"
    write_folder(contents(Closure(["gen"])), core)
    source.mkdir()
    (source / "CMakeLists.txt").write_text(PROJECT)
    settings = {"PYTHON": sys.executable, "CORE": core, "INPUTS": project.inputs}
    defined = [f"-D{name}={value}" for name, value in settings.items()]
    run("cmake", "-G", generator, "-S", source, "-B", build, *defined)
    assert "Generating" in run("cmake", "--build", build)
    assert "Generating" not in run("cmake", "--build", build)
    project.edit("eps=1e-6", "eps=1e-5")
    assert "Generating" in run("cmake", "--build", build)
    operators = build / "aten/src/ATen/ops"
    assert "1e-5" in (operators / "mean_of.h").read_text()
    assert "Generating" not in run("cmake", "--build", build)
    # As after a switch to a branch that has another operator in its place.
    project.edit("mean_of", "mean_in")
    assert "Generating" in run("cmake", "--build", build)
    assert [(operators / f"{name}.h").exists() for name in ("mean_of", "mean_in")] == [False, True]
    module = core / "opwright" / "emit" / "aten" / "functions.py"
    module.write_text(module.read_text() + "\n# An upgrade.\n")
    assert "Generating" in run("cmake", "--build", build)
    assert "Generating" not in run("cmake", "--build", build)
