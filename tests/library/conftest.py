"""What the tests of generated libraries share: runs of the program on a library file, and a library that is built."""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

import opwright
from opwright.cli.main import main
from tests.compile.compiler import Compiler
from tests.compile.conftest import program, torch

__all__ = [
    "ACME",
    "INCLUDE",
    "GenerateLibrary",
    "acme",
    "acme_compiler",
    "acme_objects",
    "generate_library",
    "generated_acme",
    "generated_code",
    "graded",
    "program",
    "torch",
]

#: A library of operators of every kind: its operators and its kernels.
ACME = Path(__file__).parent / "acme"

#: Opwright's headers, which generated code may include.
INCLUDE = Path(opwright.__file__).parent / "libraries" / "include"

GenerateLibrary = Callable[[str], Path]


def generated_code(file: Path, folders: pytest.TempPathFactory) -> Path:
    """The folder with the generated code of a library file, which has no faults."""
    out = folders.mktemp(file.stem)
    assert main(["generate", "--library", str(file), "--torch", "auto", "--out", str(out)]) == 0
    return out


def loaded_operators(
    program: str, torch: ModuleType, generated: Path, kernels: Path, folders: pytest.TempPathFactory
) -> ModuleType:
    """The operators of a library with generated code and a source of kernels, compiled and loaded, with its package."""
    (header,) = generated.glob("include/*/kernels.h")
    name = header.parent.name
    compiler = Compiler(program, folders.mktemp(f"{name}_build"), [generated / "include", INCLUDE])
    # One file with all: to read PyTorch's headers is most of the compiler's work.
    sources = [*sorted((generated / "src" / name).glob("*.cpp")), kernels]
    together = compiler.folder / f"{name}.cpp"
    together.write_text("".join(f'#include "{source}"\n' for source in sources), encoding="utf-8")
    torch.ops.load_library(compiler.library(name, [together]))
    sys.path.insert(0, str(generated / "python"))
    importlib.import_module(f"{name}._ops")
    operators: ModuleType = getattr(torch.ops, name)
    return operators


def operators_of_abi(
    abi: str, own: Path, program: str, torch: ModuleType, folders: pytest.TempPathFactory
) -> ModuleType:
    """The operators of a folder's library with a C++ interface."""
    folder = source_of_abi(abi, own, folders.mktemp(f"{own.name}_{abi}"))
    generated = generated_code(folder / "operators.yaml", folders)
    return loaded_operators(program, torch, generated, folder / "kernels.cpp", folders)


def source_of_abi(abi: str, own: Path, folder: Path, name: str | None = None) -> Path:
    """Writes a folder's library for a C++ interface, in a namespace; its kernels are written for both, by a macro."""
    name = name or (own.name if abi == "native" else f"{own.name}_stable")
    folder.mkdir(parents=True, exist_ok=True)
    for path in (*own.glob("*.yaml"), own / "kernels.cpp"):
        text = path.read_text().replace(f"namespace: {own.name}", f"namespace: {name}\nabi: {abi}")
        text = text.replace(f"namespace {own.name}", f"namespace {name}").replace(f"<{own.name}/", f"<{name}/")
        text = re.sub(rf"\b{own.name}::", f"{name}::", text)
        text = text if abi == "native" else text.replace("// The", "#define STABLE\n// The", 1)
        (folder / path.name).write_text(text)
    return folder


@pytest.fixture
def generate_library(tmp_path: Path) -> GenerateLibrary:
    """Writes a library file, runs `opwright generate` on it, and gives the folder of the outputs."""

    def run(text: str) -> Path:
        file, out = tmp_path / "library.yaml", tmp_path / "generated"
        file.write_text(text, encoding="utf-8")
        assert main(["generate", "--library", str(file), "--torch", "auto", "--out", str(out)]) == 0
        return out

    return run


@pytest.fixture(scope="session")
def generated_acme(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The generated code of the library."""
    return generated_code(ACME / "acme.yaml", tmp_path_factory)


@pytest.fixture(scope="session")
def acme_compiler(program: str, generated_acme: Path, tmp_path_factory: pytest.TempPathFactory) -> Compiler:
    """The compiler, with the headers of the library."""
    return Compiler(program, tmp_path_factory.mktemp("acme_build"), [generated_acme / "include", INCLUDE])


@pytest.fixture(scope="session")
def acme_objects(torch: ModuleType, acme_compiler: Compiler, generated_acme: Path) -> list[Path]:
    """The compiled sources of the library."""
    sources = sorted((generated_acme / "src" / "acme").glob("*.cpp"))
    return [acme_compiler.object(source) for source in (*sources, ACME / "kernels.cpp")]


@pytest.fixture(scope="session")
def acme(torch: ModuleType, acme_compiler: Compiler, acme_objects: list[Path]) -> ModuleType:
    """`torch.ops.acme`, compiled and loaded."""
    torch.ops.load_library(acme_compiler.link("acme", acme_objects))
    operators: ModuleType = torch.ops.acme
    return operators


@pytest.fixture(scope="session")
def graded(program: str, torch: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> ModuleType:
    """`torch.ops.graded`, whose operators have derivatives, are views, or write to their arguments."""
    own = Path(__file__).parent / "graded"
    out = generated_code(own / "graded.yaml", tmp_path_factory)
    compiler = Compiler(program, tmp_path_factory.mktemp("graded_build"), [out / "include", INCLUDE, own])
    sources = sorted((out / "src" / "graded").glob("*.cpp"))
    torch.ops.load_library(compiler.library("graded", [*sources, own / "kernels.cpp"]))
    operators: ModuleType = torch.ops.graded
    return operators
