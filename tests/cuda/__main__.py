"""Builds an operator library with kernels in CUDA, natively and for the stable ABI, on a machine without a GPU.

`python -m tests.cuda` takes NVIDIA's compiler from the package index. PyTorch's headers are those of the installed
package, also if that is built without CUDA; then its two libraries for CUDA are empty here, so that what is built links
and can be imported, and its CUDA kernels cannot run.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from zipfile import ZipFile

import torch

from opwright.libraries.extension.project import write_project

HOME = Path(__file__).parents[2] / ".cache" / "cuda"
PACKAGES = ("nvidia-cuda-nvcc", "nvidia-cuda-crt", "nvidia-nvvm", "nvidia-cuda-runtime", "nvidia-cuda-cccl")
#: What the build of PyTorch for CUDA has beside the headers of the one without.
MACROS = "#pragma once\n#define C10_CUDA_BUILD_SHARED_LIBS\n"
PROJECT = Path(__file__).with_name("project")
#: A library with what nothing defines here, and which nothing calls.
MISSING = "libmissing.so"
WITH_CUDA = [sys.executable, str(Path(__file__).with_name("with_cuda.py"))]


def cuda_home() -> Path:
    """Folder with NVIDIA's compiler, which is installed the first time, and PyTorch's libraries for CUDA, empty."""
    found = sorted(HOME.glob("packages/nvidia/cu*"))
    if not found:
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--target", str(HOME / "packages")]
        subprocess.run([*pip, *[f"{package}~=13.0" for package in PACKAGES]], check=True)
        found = sorted(HOME.glob("packages/nvidia/cu*"))
    home = found[-1]
    runtime = home / "lib" / "libcudart.so"
    if not runtime.exists():
        runtime.symlink_to(next(home.glob("lib/libcudart.so.*")).name)
    for name in ("c10_cuda", "torch_cuda"):
        write_library(home / "lib" / f"lib{name}.so", [])
    macros = home / "include" / "c10" / "cuda" / "impl" / "cuda_cmake_macros.h"
    macros.parent.mkdir(parents=True, exist_ok=True)
    macros.write_text(MACROS, encoding="utf-8")
    return home


def write_library(path: Path, symbols: list[str]) -> None:
    """Write a shared library that defines symbols, which nothing may call."""
    text = "".join(f'extern "C" {{ void* {symbol} = nullptr; }}\n' for symbol in symbols)
    command = ["g++", "-shared", "-fPIC", "-x", "c++", "-", "-o", str(path)]
    subprocess.run(command, input=text, text=True, check=True)


def symbols(library: Path, option: str) -> set[str]:
    """Symbols that a library needs (`--undefined-only`) or has (`--defined-only`)."""
    command = ["nm", "-D", option, str(library)]
    listed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return {line.split()[-1] for line in listed.splitlines()}


def missing_symbols(library: Path) -> list[str]:
    """What a library needs of PyTorch's libraries for CUDA."""
    found = symbols(Path(torch.__file__).parent / "lib" / "libtorch_cpu.so", "--defined-only")
    needed = symbols(library, "--undefined-only") - found
    return sorted(name for name in needed if "cuda" in name.lower() and "@" not in name)


def main() -> int:
    """Build the project for each ABI, by CMake, a new one and texts; call their operators with tensors of the CPU."""
    home = cuda_home()
    for abi in ("native", "stable"):
        build(home, PROJECT, HOME / abi, abi, [sys.executable, "check.py", str(HOME / abi / "lib")])
    new = HOME / "new"
    write_project("library", "acme_cuda", str(new), force=True, cuda=True)
    tests = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/test_operators.py"]
    build_wheel(home, new, tests)
    page = HOME / "page"
    shutil.rmtree(page, ignore_errors=True)
    shutil.copytree(new, page, ignore=shutil.ignore_patterns("build", "dist", "*.egg-info"))
    (page / "setup.py").write_text(setup_of_page("acme_cuda"), encoding="utf-8")
    build(home, page, HOME / "page-built", "page", tests)
    build_by_cmake(home)
    begun = time.monotonic()
    subprocess.run([*WITH_CUDA, str(PROJECT.with_name("inline.py"))], env=environment_of(home), check=True)
    print(f"inline: built in {time.monotonic() - begun:.0f} s")
    return 0


def environment_of(home: Path) -> dict[str, str]:
    """The environment of a machine with CUDA and without a GPU."""
    settings = {"CUDA_HOME": str(home), "TORCH_CUDA_ARCH_LIST": "9.0", "MAX_JOBS": "2"}
    return {**os.environ, **settings, "LD_LIBRARY_PATH": str(home / "lib")}


def build(home: Path, project: Path, folder: Path, name: str, check: list[str]) -> None:
    """Build a project below a folder, and run a command with what is built."""
    begun = time.monotonic()
    environment = {**environment_of(home), "ABI": name}
    folders = ["--build-lib", str(folder / "lib"), "--build-temp", str(folder / "temp")]
    subprocess.run([*WITH_CUDA, "setup.py", "build", *folders], cwd=project, env=environment, check=True)
    missing = folder / MISSING
    write_library(missing, missing_symbols(folder / "lib" / "acme_cuda" / "_C.so"))
    imported = {"LD_PRELOAD": str(missing), "PYTHONPATH": str(folder / "lib")}
    subprocess.run(check, cwd=project, env=environment | imported, check=True)
    print(f"{name}: built in {time.monotonic() - begun:.0f} s, imported, and equal on the CPU")


def build_wheel(home: Path, project: Path, check: list[str]) -> None:
    """Build the wheel of a project by what `python -m build` calls, and run a command where it is unpacked."""
    begun = time.monotonic()
    for folder in ("build", "dist"):
        shutil.rmtree(project / folder, ignore_errors=True)
    script = HOME / "wheel.py"
    script.write_text("from setuptools import build_meta\nbuild_meta.build_wheel('dist')\n", encoding="utf-8")
    subprocess.run([*WITH_CUDA, str(script)], cwd=project, env=environment_of(home), check=True)
    [path] = (project / "dist").iterdir()
    unpacked = HOME / "wheel"
    shutil.rmtree(unpacked, ignore_errors=True)
    ZipFile(path).extractall(unpacked)
    missing = HOME / "wheel-missing.so"
    write_library(missing, missing_symbols(unpacked / "acme_cuda" / "_C.so"))
    imported = {"LD_PRELOAD": str(missing), "PYTHONPATH": str(unpacked)}
    subprocess.run(check, cwd=project, env=environment_of(home) | imported, check=True)
    print(f"{path.name}: built in {time.monotonic() - begun:.0f} s, imported, and equal on the CPU")


def setup_of_page(package: str) -> str:
    """The text that `docs/library-files.md` prints for libraries with CUDA, as the `setup.py` of a new project."""
    page = (Path(__file__).parents[2] / "docs" / "library-files.md").read_text(encoding="utf-8")
    text = page.partition("**With CUDA.**")[2].partition("```\n")[2].partition("```")[0]
    call = "operator_library(\n    ...,"
    assert text.count(call) == 1, text
    given = f'setup(**operator_library(\n    "{package}", yaml="operators.yaml", include_dirs=["csrc"], tests="tests",'
    imports = "from opwright.setuptools import operator_library\nfrom setuptools import setup\n"
    return f"{imports}{text.replace(call, given).rstrip()})\n"


def build_by_cmake(home: Path) -> None:
    """Build the stable library as a wheel by CMake and scikit-build-core, and call it where the wheel is unpacked."""
    begun = time.monotonic()
    project, missing = HOME / "cmake", HOME / "stable" / MISSING
    shutil.rmtree(project, ignore_errors=True)
    shutil.copytree(PROJECT, project)
    settings = {"ABI": "stable", "CUDACXX": str(home / "bin" / "nvcc"), "CUDAARCHS": "90", "CUDA_STUBS": str(missing)}
    environment = {**environment_of(home), **settings}
    environment["LD_LIBRARY_PATH"] += f"{os.pathsep}{missing.parent}"
    wheel = "from scikit_build_core import build; build.build_wheel('dist')"
    subprocess.run([sys.executable, "-c", wheel], cwd=project, env=environment, check=True)
    [path] = (project / "dist").iterdir()
    ZipFile(path).extractall(project / "installed")
    check = [sys.executable, "check.py", str(project / "installed")]
    subprocess.run(check, cwd=project, env=environment, check=True)
    print(f"cmake: built in {time.monotonic() - begun:.0f} s, imported, and equal on the CPU")


if __name__ == "__main__":
    sys.exit(main())
