"""The example of bindings: C functions, a program in C and a crate in Rust, made from a dump, compiled and called."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.pages.page import Page

ROOT = Path(__file__).resolve().parents[3]
PAGE = ROOT / "docs" / "bindings.md"
CALLS = Path(__file__).with_name("calls.py")

needs_compilers = pytest.mark.skipif(
    shutil.which("g++") is None or shutil.which("gcc") is None, reason="there is no GCC for C and C++"
)


def run(*command: str | Path, folder: Path, **variables: str) -> str:
    """What a command prints in a folder. A test fails if the command does."""
    environment = {**os.environ, **variables}
    done = subprocess.run(
        list(map(str, command)), cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def copied(folder: Path) -> Path:
    """A copy of the example's folder."""
    return Path(shutil.copytree(ROOT / "examples" / "bindings", folder / "bindings"))


@pytest.fixture
def example(tmp_path: Path) -> Path:
    """A copy of the example's folder for one test."""
    return copied(tmp_path)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory, dump: Path) -> Path:
    """A copy of the example's folder, in which the library has all functions."""
    folder = copied(tmp_path_factory.mktemp("built"))
    run(sys.executable, "generate.py", dump, "generated", folder=folder)
    run(sys.executable, "build.py", "generated", folder=folder)
    return folder


def crate_output(example: Path, library: str) -> str:
    """What the crate prints with a library of the example. Skips the rest of a test where there is no cargo."""
    if shutil.which("cargo") is None:
        pytest.skip("there is no cargo")
    return run("cargo", "run", "--quiet", "--offline", folder=example / "rust", ATC_DIR=str(example / library))


def shown_by_crate() -> str:
    """What the page shows that the crate prints."""
    text = PAGE.read_text(encoding="utf-8")
    return text.partition("cargo run\n")[2].partition("```")[0]


@pytest.mark.thorough
@needs_compilers
def test_the_page_on_bindings_can_be_followed(example: Path) -> None:
    """The dump, the C functions and the programs are what the page shows."""
    assert Page(PAGE, example).run() > 0
    assert crate_output(example, "small") == shown_by_crate()


@pytest.mark.thorough
@needs_compilers
def test_all_functions_compile_and_link(built: Path) -> None:
    """All C functions compile, the C header is valid C, and a program and a crate that link them run."""
    flags = ["-std=c11", "-Wall", "-Wextra", "-Werror", "-Icsrc", "-Igenerated"]
    linked = ["-Lgenerated", "-latc", f"-Wl,-rpath,{built / 'generated'},--allow-shlib-undefined"]
    run("gcc", *flags, "c/demo.c", *linked, "-o", "demo", folder=built)
    assert "gradient of x: 11 15 13 17\n" in run("./demo", folder=built)
    assert crate_output(built, "generated") == shown_by_crate()


@pytest.mark.thorough
@needs_compilers
def test_values_of_all_kinds_reach_pytorch_and_come_back(built: Path) -> None:
    """Tensors, lists, numbers, texts, options and generators mean in C what they mean in Python."""
    output = run(sys.executable, CALLS, built / "generated" / "libatc.so", folder=built)
    assert output.splitlines()[-1] == "all calls agree"


def test_unknown_operators_are_refused(example: Path, dump: Path) -> None:
    """A name in `--only` without an operator ends the generator with a message."""
    command = [sys.executable, "generate.py", str(dump), "generated", "--only", "add.Tensor,ad.Tensor"]
    done = subprocess.run(command, cwd=example, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "no such operators: ad.Tensor" in done.stderr
