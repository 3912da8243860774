"""Descriptions for Ninja and Meson, built with the real programs."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import opwright as package
from tests.builds.actions.sandbox import opwright
from tests.engine.project import files_of, replace_once

LIBRARY = Path(__file__).resolve().parents[3] / "examples" / "library"
#: Where programs are looked for: those that were installed with the tests stand beside Python.
PATH = os.pathsep.join([os.path.dirname(sys.executable), os.environ.get("PATH", os.defpath)])
ENVIRONMENT = {**os.environ, "PATH": PATH, "PYTHONPATH": str(Path(package.__file__).parents[1])}

#: Stands for a compiler: a copy of one generated file.
NINJA = """\
opwright = env PYTHONPATH={packages} {python} -m opwright
opwright_out = gen
opwright_torch = {torch}
include operators.ninja
rule copy
  command = cp $in $out
build module.py: copy gen/python/acme/_ops.py
build default: phony opwright_outputs module.py
default default
"""

MESON = """\
project('example')
opwright = [find_program({python!r}), '-m', 'opwright']
opwright_torch = {torch!r}
subdir('operators')
custom_target(
  'module',
  input: opwright_in_python_acme[2],
  output: 'module.py',
  command: ['cp', '@INPUT@', '@OUTPUT@'],
  build_by_default: true,
)
alias_target('everything', opwright_targets)
"""

needs_ninja = pytest.mark.skipif(shutil.which("ninja", path=PATH) is None, reason="there is no Ninja")


def run(folder: Path, *words: str) -> str:
    """What a program prints, which must succeed."""
    done = subprocess.run(words, cwd=folder, env=ENVIRONMENT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A folder with the files of a library."""
    folder = tmp_path / "source"
    shutil.copytree(LIBRARY, folder)
    return folder


@pytest.fixture
def plain(source: Path, tmp_path: Path) -> dict[str, bytes]:
    """What an ordinary run makes."""
    opwright("generate", "--library", "acme.yaml", "--out", tmp_path / "plain", cwd=source)
    return files_of(tmp_path / "plain")


@pytest.mark.thorough
@needs_ninja
def test_ninja(source: Path, plain: dict[str, bytes], reference_inputs: Path) -> None:
    """Ninja runs each action once; a file that stays the same makes nothing else run."""
    words = ("--library", "acme.yaml", "--out", "gen", "--actions", 2)
    opwright("generate", *words, "--describe", "ninja", "--describe-to", "operators.ninja", cwd=source)
    own = shutil.copytree(Path(package.__file__).parent, source / "new/opwright")
    text = NINJA.format(packages=own.parent, python=sys.executable, torch=reference_inputs.parents[2])
    (source / "build.ninja").write_text(text)
    assert run(source, "ninja", "-v").count(" generate ") == 2
    assert files_of(source / "gen") == plain
    assert not (source / "gen" / ".opwright").exists()
    assert "no work to do" in run(source, "ninja", "-v")
    yaml = source / "acme.yaml"
    yaml.write_text(yaml.read_text() + "# a comment\n")
    commented = run(source, "ninja", "-v")
    assert commented.count(" generate ") == 2
    assert "cp " not in commented
    assert "no work to do" in run(source, "ninja", "-v")
    replace_once(yaml, "Raises brightness values", "Raises all brightness values")
    assert "cp " in run(source, "ninja", "-v")
    assert "no work to do" in run(source, "ninja", "-v")
    replace_once(own / "libraries/emit/templates/kernels.h", "#pragma once", "#pragma once // of another Opwright")
    assert run(source, "ninja", "-v").count(" generate ") == 2
    assert "of another Opwright" in (source / "gen/include/acme/kernels.h").read_text()
    assert "no work to do" in run(source, "ninja", "-v")


@pytest.mark.thorough
@needs_ninja
@pytest.mark.skipif(shutil.which("meson", path=PATH) is None, reason="there is no Meson")
def test_meson(source: Path, plain: dict[str, bytes], reference_inputs: Path) -> None:
    """Meson knows every output; a file that stays the same makes nothing else run."""
    words = ("--library", "acme.yaml", "--out", "gen", "--describe", "meson", "--describe-to", "operators")
    opwright("generate", *words, cwd=source)
    text = MESON.format(python=sys.executable, torch=str(reference_inputs.parents[2]))
    (source / "meson.build").write_text(text)
    run(source, "meson", "setup", "build")
    build = source / "build"
    ninja = ("ninja", "-v", "all", "everything")
    first = run(build, *ninja)
    made = {path: (build / "operators" / path).read_bytes() for path in plain}
    assert made == plain
    assert first.count(" generate ") == 4
    assert "no work to do" in run(build, *ninja)
    yaml = source / "acme.yaml"
    yaml.write_text(yaml.read_text() + "# a comment\n")
    commented = run(build, *ninja)
    assert commented.count(" generate ") == 4
    assert "cp " not in commented
    replace_once(yaml, "Raises brightness values", "Raises all brightness values")
    assert "cp " in run(build, *ninja)
    assert "no work to do" in run(build, *ninja)
