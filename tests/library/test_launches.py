"""Launches of kernels for CUDA that fail, with a stand-in for CUDA's runtime that has nothing but its last error."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import pytest

from tests.compile.compiler import Compiler
from tests.library.conftest import INCLUDE, GenerateLibrary

RUNTIME = """\
#pragma once
#include <utility>
enum cudaError_t { cudaSuccess = 0, cudaErrorInvalidConfiguration = 9 };
inline cudaError_t pending_error = cudaSuccess;
inline cudaError_t cudaGetLastError() { return std::exchange(pending_error, cudaSuccess); }
inline const char* cudaGetErrorName(cudaError_t) { return "cudaErrorInvalidConfiguration"; }
inline const char* cudaGetErrorString(cudaError_t) { return "invalid configuration argument"; }
"""

LIBRARY = """\
operators:
- {func: "launch(Tensor self, int blocks) -> Tensor", outputs: like(self), dispatch: {"CPU, CUDA": launch}}
- func: mark(Tensor(a!) self, int blocks) -> ()
  device_check: NoCheck
  device_guard: False
  dispatch: {CUDA: mark}
"""

#: A launch without blocks fails, and a negative number of them is refused by the kernel, after such a launch.
KERNELS = """\
#include <cuda_runtime_api.h>
#include <NAMESPACE/kernels.h>
#include <stdexcept>

namespace NAMESPACE::native {
namespace {
void launch_on(int64_t blocks) {
  if (blocks <= 0) {
    pending_error = cudaErrorInvalidConfiguration;
  }
  if (blocks < 0) {
    throw std::runtime_error("refused by the kernel");
  }
}
} // namespace
SPACE::Tensor launch(const SPACE::Tensor& self, int64_t blocks) {
  launch_on(blocks);
  return self;
}
void mark(SPACE::Tensor& self, int64_t blocks) {
  launch_on(blocks);
}
} // namespace NAMESPACE::native
"""
FAILED = r"failed: invalid configuration argument \(cudaErrorInvalidConfiguration\)$"


def generated(generate_library: GenerateLibrary, abi: str) -> tuple[str, Path]:
    """The namespace of the library with an interface, and the folder with its code."""
    name = f"launched_{abi}"
    return name, generate_library(f"namespace: {name}\nabi: {abi}\n{LIBRARY}")


@pytest.mark.thorough
@pytest.mark.parametrize("abi", ["native", "stable"])
def test_a_failed_launch_is_an_error_of_its_operator(
    program: str, torch: ModuleType, tmp_path: Path, generate_library: GenerateLibrary, abi: str
) -> None:
    """With the macro, calls raise what went wrong with a launch before them, or with theirs, once, and name it."""
    name, out = generated(generate_library, abi)
    (tmp_path / "cuda_runtime_api.h").write_text(RUNTIME)
    text = KERNELS.replace("NAMESPACE", name).replace("SPACE", {"native": "at", "stable": "torch::stable"}[abi])
    (tmp_path / "kernels.cpp").write_text(text)
    folders = [out / "include", INCLUDE, tmp_path]
    compiler = Compiler(program, tmp_path, folders, more_flags=["-DOPWRIGHT_CHECK_LAUNCHES"])
    source = out / "src" / name / "register_0.cpp"
    torch.ops.load_library(compiler.library(name, [source, tmp_path / "kernels.cpp"]))
    operators, cuda = getattr(torch.ops, name), torch._C.DispatchKeySet(torch._C.DispatchKey.CUDA)
    x = torch.ones(2)
    for operator in (operators.launch.default, operators.mark.default):
        operator.redispatch(cuda, x, 1)
        with pytest.raises(RuntimeError, match=f"{operator.name()}: the launch of its kernel {FAILED}"):
            operator.redispatch(cuda, x, 0)
        operator.redispatch(cuda, x, 1)
        with pytest.raises(RuntimeError, match="refused by the kernel"):
            operator.redispatch(cuda, x, -1)
        with pytest.raises(RuntimeError, match=f"{operator.name()}: the launch of an earlier kernel {FAILED}"):
            operator.redispatch(cuda, x, 1)
        # Nothing looks after a kernel for the CPU.
        operators.launch(x, 0)
        with pytest.raises(RuntimeError, match="an earlier kernel"):
            operator.redispatch(cuda, x, 1)


@pytest.mark.parametrize("abi", ["native", "stable"])
def test_kernels_for_cuda_alone_are_checked(generate_library: GenerateLibrary, abi: str) -> None:
    """A library without such kernels has neither the check nor its header; kernels for the CPU have no check."""
    name, out = generated(generate_library, abi)
    source = (out / "src" / name / "register_0.cpp").read_text()
    assert source.count("#include <opwright/launch.h>\n") == 1
    assert source.count("OPWRIGHT_LAUNCHES(") == 2
    other = LIBRARY.replace("CPU, CUDA", "CPU").replace("CUDA: mark", "CPU: mark")
    out = generate_library(f"namespace: {name}\nabi: {abi}\n{other}")
    source = (out / "src" / name / "register_0.cpp").read_text()
    assert "launch.h" not in source
    assert "OPWRIGHT_LAUNCHES" not in source


def test_the_check_asks_the_runtime_of_rocm(program: str, tmp_path: Path) -> None:
    """For ROCm, the same header asks the functions of the same names there."""
    (tmp_path / "hip").mkdir()
    (tmp_path / "hip" / "hip_runtime_api.h").write_text(RUNTIME.replace("cuda", "hip"))
    (tmp_path / "called.cpp").write_text(
        '#include <opwright/launch.h>\nvoid call() { OPWRIGHT_LAUNCHES("acme::f"); pending_error = hipSuccess; }\n'
    )
    flags = ["-DOPWRIGHT_CHECK_LAUNCHES", "-DUSE_ROCM"]
    Compiler(program, tmp_path, [INCLUDE, tmp_path], more_flags=flags).check_syntax(tmp_path / "called.cpp")
