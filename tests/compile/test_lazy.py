"""The code of lazy tensors, compiled with the headers that PyTorch ships."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from tests.compile.compiler import Compiler
from tests.conformance.inputs import LAZY, input_folder
from tests.conformance.jobs import LAZY_KERNELS, LAZY_SHAPES

#: All files at once, because each would read the same headers. Two sources have the same helpers.
SOURCE = """\
#include <lazy/generated/LazyNativeFunctions.cpp>
#include <lazy/generated/LazyNonNativeIr.h>
#include <lazy/generated/RegisterLazy.cpp>
#define resize_out resize_out_again
#define check_inplace check_inplace_again
#include <lazy/generated/RegisterAutogradLazy.cpp>
"""


@pytest.mark.thorough
def test_files_compile_with_the_headers_of_pytorch(program: str, torch: ModuleType, tmp_path: Path) -> None:
    """Nodes, kernels and registrations of PyTorch's backend are valid C++."""
    inputs = input_folder(LAZY)
    native = inputs / "torchgen" / "packaged" / "ATen" / "native"
    for path in (LAZY_KERNELS, LAZY_SHAPES):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_bytes((inputs / "include" / path).read_bytes())
    flags = ["--native-functions-path", str(native / "native_functions.yaml"), "--tags-path", str(native / "tags.yaml")]
    flags += ["--install-dir", ".", "--subset", "python", "--gen-lazy-ts-backend", "--per-operator-headers"]
    command = [sys.executable, "-m", "opwright.torchgen.generate_code", *flags]
    subprocess.run(command, check=True, capture_output=True, cwd=tmp_path)
    source = tmp_path / "lazy.cpp"
    source.write_text(SOURCE)
    Compiler(program, tmp_path, [tmp_path]).check_syntax(source)
