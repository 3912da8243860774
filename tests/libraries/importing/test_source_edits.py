"""Sources that an import edited register nothing twice, and generated code can name the kernels in them."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from opwright.cli.main import main
from opwright.migrate.importing.cpp_reader import read_cpp_sources
from opwright.source.text import SourceFile

#: In place of PyTorch's headers, which would take long: the edited sources are plain C++.
TENSOR = "#pragma once\n#include <cstdint>\nnamespace at { struct Tensor { int64_t value; }; }\n"
SOURCES = {
    "csrc/cpu.cpp": """\
#include <ATen/core/Tensor.h>
namespace twins {
namespace {

int64_t half(int64_t value) { return value / 2; }

at::Tensor halve_kernel(const at::Tensor& x) { return {half(x.value)}; }

int64_t third(int64_t value) { return value / 3; }

// A caller in the same file.
at::Tensor third_kernel(const at::Tensor& x) { return {third(3 * halve_kernel(x).value)}; }

}  // namespace

TORCH_LIBRARY_IMPL(twins, CPU, m) {
  m.impl("halve", TORCH_FN(halve_kernel));
  m.impl("third", TORCH_FN(third_kernel));
}
}  // namespace twins
""",
    "csrc/cuda.cpp": (
        "#include <ATen/core/Tensor.h>\r\n"
        "namespace twins {\r\n"
        "static at::Tensor halve_kernel(const at::Tensor& x) { return {x.value * 10}; }\r\n"
        'TORCH_LIBRARY_IMPL(twins, CUDA, m) { m.impl("halve", halve_kernel); }\r\n'
        "}\r\n"
    ),
    "csrc/def.cpp": (
        'TORCH_LIBRARY(twins, m) {\n  m.def("halve(Tensor x) -> Tensor");\n  m.def("third(Tensor x) -> Tensor");\n}\n'
    ),
}
MAIN = """\
#include "twins_kernels.h"
#include <cstdio>
int main() {
  at::Tensor x{8};
  std::printf("%d %d %d", int(twins::halve_kernel_cpu(x).value), int(twins::third_kernel(x).value),
              int(twins::halve_kernel_cuda(x).value));
}
"""


def test_edited_sources_compile_beside_generated_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A compiler takes the edited sources, the written header declares their kernels, and none registers anything."""
    monkeypatch.chdir(tmp_path)
    for name, text in {**SOURCES, "ATen/core/Tensor.h": TENSOR, "main.cpp": MAIN}.items():
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_bytes(text.encode())
    assert main(["import", "csrc", "--out", "twins.yaml", "--edit"]) == 0
    printed = capsys.readouterr().out
    assert "moved: csrc/cpu.cpp: `twins::halve_kernel` out of its anonymous namespace, as `halve_kernel_cpu`" in printed
    assert "empty: csrc/def.cpp: no code is left; delete the file" in printed
    assert "move it out of" not in Path("twins.yaml").read_text()
    files = [SourceFile.read(name) for name in SOURCES]
    assert not read_cpp_sources(files, {}).statements
    assert b"\n" not in Path("csrc/cuda.cpp").read_bytes().replace(b"\r\n", b"")
    compiler = shutil.which("c++") or "g++"
    command = [compiler, "-std=c++17", "-I.", "main.cpp", "csrc/cpu.cpp", "csrc/cuda.cpp", "-o", "run"]
    subprocess.run(command, check=True)
    assert subprocess.check_output(["./run"], text=True) == "4 4 80"
