"""Libraries of drawn operators: generated and compiled as one file."""

from __future__ import annotations

import contextlib
import io
from pathlib import Path
from typing import Final, NamedTuple

import opwright
from opwright.cli.main import main as run_opwright
from tests.compile.compiler import Compiler

__all__ = ["BuiltLibrary", "build_library"]

_INCLUDE: Final = Path(opwright.__file__).parent / "libraries" / "include"


class BuiltLibrary(NamedTuple):
    """A shared library, and the folder of the generated Python package."""

    binary: Path
    python: Path


def build_library(name: str, entries: str, derivatives: str, kernels: str, folder: Path, program: str) -> BuiltLibrary:
    """A library from its file, its formulas, and the C++ text that defines its kernels, below a new folder."""
    folder.mkdir(parents=True)
    (folder / f"{name}.yaml").write_text(entries)
    (folder / "derivatives.yaml").write_text(derivatives)
    out, printed = folder / "out", io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
        arguments = ["--library", str(folder / f"{name}.yaml"), "--torch", "auto", "--out", str(out)]
        status = run_opwright(["generate", *arguments])
    assert status == 0, printed.getvalue()
    sources = "".join([f'#include "{source}"\n' for source in sorted((out / "src" / name).glob("*.cpp"))])
    source = folder / "all.cpp"
    source.write_text(f"{sources}{kernels}")
    compiler = Compiler(program, folder / "build", [out / "include", _INCLUDE])
    compiler.folder.mkdir()
    return BuiltLibrary(compiler.library(name, [source]), out / "python")
