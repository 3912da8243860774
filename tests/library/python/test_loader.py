"""The module `_load.py`: it loads the shared object for the PyTorch that this is for, and says so under others."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from tests.compile.compiler import Compiler
from tests.library.conftest import INCLUDE, GenerateLibrary

ENTRY = """\
operators:
- func: one() -> int
"""
NATIVE = "namespace: loaded\n"
STABLE = 'namespace: loaded\nabi: stable\ntorch: ">=2.12"\n'
KERNEL = "#include <loaded/kernels.h>\nint64_t loaded::native::one() { return 1; }\n"


def load(folder: Path, **names: object) -> None:
    """Run the module of a generated package, and load what is beside it."""
    path = folder / "python" / "loaded" / "_load.py"
    values = {"__file__": str(path), **names}
    exec(compile(path.read_text(encoding="utf-8"), path, "exec"), values)
    values["load_library"]()  # type: ignore[operator]


@pytest.mark.parametrize(
    ("head", "release", "sentence"),
    [
        (NATIVE, "2.13.1+cpu", ""),
        (NATIVE, "2.14.0a0+gitdeadbee", "`loaded` was built for PyTorch 2.13, and PyTorch 2.14.0a0+gitdeadbee is "),
        (NATIVE, "3.13.0", "`loaded` was built for PyTorch 2.13, and PyTorch 3.13.0 is installed: install `torch==2.1"),
        (STABLE, "2.12.0", ""),
        (STABLE, "2.15.1+cu130", ""),
        (
            STABLE,
            "2.9.1",
            "`loaded` needs PyTorch 2.12 or newer, and PyTorch 2.9.1 is installed: install `torch>=2.12`",
        ),
    ],
)
def test_releases(
    torch: ModuleType,
    generate_library: GenerateLibrary,
    monkeypatch: pytest.MonkeyPatch,
    head: str,
    release: str,
    sentence: str,
) -> None:
    """Native libraries load under their own series, stable ones from their oldest release on, others say one thing."""
    folder = generate_library(head + ENTRY)
    paths: list[Path] = []
    monkeypatch.setattr(torch.ops, "load_library", paths.append)
    monkeypatch.setattr(torch, "__version__", release)
    if sentence:
        with pytest.raises(ImportError) as raised:
            load(folder)
        assert str(raised.value).startswith(sentence)
        assert not paths
    else:
        load(folder)
        assert paths == [folder / "python" / "loaded" / "_C.so"]


@pytest.mark.parametrize(
    ("missing", "cuda", "sentence"),
    [
        (
            "libc10_cuda.so",
            None,
            "2.13.0 without CUDA is installed: install one for the same CUDA, or build `loaded` ag",
        ),
        (
            "libcudart.so.13",
            "12.8",
            "2.13.0 for CUDA 12.8 is installed: install one for the same CUDA, or build `loaded",
        ),
    ],
)
def test_libraries_of_cuda(
    torch: ModuleType,
    generate_library: GenerateLibrary,
    monkeypatch: pytest.MonkeyPatch,
    missing: str,
    cuda: str | None,
    sentence: str,
) -> None:
    """Where PyTorch has no CUDA, or another one, one sentence says so; other mistakes of the system stay."""
    folder, message = generate_library(NATIVE + ENTRY), f"{missing}: cannot open shared object file"
    monkeypatch.setattr(torch.ops, "load_library", failing(lambda: message))
    monkeypatch.setattr(torch, "__version__", "2.13.0")
    monkeypatch.setattr(torch.version, "cuda", cuda)
    with pytest.raises(ImportError) as raised:
        load(folder)
    assert str(raised.value).startswith(f"`loaded` was built for a PyTorch with CUDA, and PyTorch {sentence}")
    message = "libblas.so: cannot open shared object file"
    with pytest.raises(OSError, match="libblas"):
        load(folder)


def failing(message: Callable[[], str]) -> Callable[[object], None]:
    """A function that loads nothing."""

    def load_library(path: object) -> None:
        raise OSError(message())

    return load_library


def test_another_library_has_the_operator(
    torch: ModuleType, generate_library: GenerateLibrary, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """An operator that is there says where it comes from: PyTorch would end the process. Other overloads do no harm."""
    folder = generate_library("namespace: loaded\n" + ENTRY + "- func: two.out(*, Tensor(a!) out) -> Tensor(a!)\n")
    paths: list[Path] = []
    monkeypatch.setattr(torch.ops, "load_library", paths.append)
    with torch.library._scoped_library("loaded", "FRAGMENT") as library:
        library.define("two() -> Tensor")
        load(folder)
        assert len(paths) == 1
        library.define("two.out(*, Tensor(a!) out) -> Tensor(a!)")
        with pytest.raises(ImportError) as raised:
            load(folder)
        assert len(paths) == 1
        sentence = str(raised.value)
        assert sentence.startswith("two libraries define `loaded::two.out`: it is registered at ")
        assert f"`loaded` defines it in {folder / 'python' / 'loaded' / '_C.so'}: import one" in sentence
        monkeypatch.setattr(torch.ops, "loaded_libraries", {os.path.realpath(paths[0])})
        load(folder)
        assert len(paths) == 2


@pytest.mark.thorough
def test_library_is_loaded(program: str, torch: ModuleType, generate_library: GenerateLibrary, tmp_path: Path) -> None:
    """The operators are there after a call without a path, whatever suffix the system gives shared objects."""
    folder = generate_library(NATIVE + ENTRY)
    compiler = Compiler(program, tmp_path, [folder / "include", INCLUDE])
    (tmp_path / "kernels.cpp").write_text(KERNEL, encoding="utf-8")
    sources = [folder / "src/loaded/register_0.cpp", tmp_path / "kernels.cpp"]
    shared = Path(compiler.link("loaded", list(map(compiler.object, sources))))
    shared.rename(folder / "python" / "loaded" / "_C.dylib")
    load(folder)
    assert torch.ops.loaded.one() == 1
    # What the check before loading is for: PyTorch ends a process that loads a library with operators that it has.
    define = 'import torch; library = torch.library.Library("loaded", "DEF"); library.define("one() -> int")'
    path = folder / "python" / "loaded" / "_C.dylib"
    command = [sys.executable, "-c", f"{define}; torch.ops.load_library({str(path)!r})"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode < 0
    assert "loaded" in done.stderr
