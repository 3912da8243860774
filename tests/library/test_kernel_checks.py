"""A kernel that is missing or has another type than its schema needs is one error of the compiler or the linker."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from types import ModuleType

import pytest

from tests.compile.compiler import Compiler
from tests.library.conftest import INCLUDE, GenerateLibrary

OPERATORS = """
namespace acme
includes: [kernels_of_acme.h]
operators:
  - func: right(Tensor self, float factor) -> Tensor
    dispatch: {CPU: right_cpu}
  - func: overloaded(Tensor self, Scalar factor) -> Tensor
    dispatch: {CPU: overloaded_cpu}
  - func: converted(Tensor self, SymInt[] sizes) -> Tensor
    dispatch: {CPU: mine::converted_cpu}
  - func: missing(Tensor self, float factor) -> Tensor
    dispatch: {CPU: missing_cpu}
  - func: argument(Tensor self, float factor) -> Tensor
    dispatch: {CPU: argument_cpu}
  - func: result(Tensor self) -> Tensor[]
    dispatch: {CPU: result_cpu}
  - func: none(Tensor self, SymInt[] sizes) -> Tensor
    dispatch: {CPU: none_cpu}
""".replace("namespace acme\n", "namespace: acme\n")

#: What the author declares. The kernels of the first three operators are as they should be.
DECLARED = """
#include <ATen/core/Tensor.h>
namespace acme::native {
at::Tensor right_cpu(const at::Tensor& self, double factor);
at::Tensor overloaded_cpu(const at::Tensor& self, int64_t factor);
at::Tensor overloaded_cpu(const at::Tensor& self, const at::Scalar& factor);
at::Tensor argument_cpu(const at::Tensor& self, float factor);
at::Tensor result_cpu(const at::Tensor& self);
at::Tensor none_cpu(const at::Tensor& self, int64_t size);
at::Tensor none_cpu(const at::Tensor& self, double size);
} // namespace acme::native
namespace mine {
at::Tensor converted_cpu(const at::Tensor& self, at::IntArrayRef sizes);
} // namespace mine
"""


def _errors(compiler: Compiler, source: Path) -> list[str]:
    """The errors of the compiler for a file, each a line."""
    command = [compiler.program, *compiler.flags(), "-fsyntax-only", str(source)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return [line.partition("error: ")[2] for line in done.stderr.splitlines() if "error: " in line]


def _plain(text: str) -> str:
    """A message without what differs between compilers: quotes and spaces."""
    return re.sub(r"[‘’'` ]", "", text)


@pytest.mark.thorough
def test_each_wrong_kernel_is_one_error(
    program: str, torch: ModuleType, generate_library: GenerateLibrary, tmp_path: Path
) -> None:
    """The error names the operator, the type that its schema expects, and the one that is found."""
    out = generate_library(OPERATORS)
    (tmp_path / "kernels_of_acme.h").write_text(DECLARED, encoding="utf-8")
    compiler = Compiler(program, tmp_path, [out / "include", INCLUDE, tmp_path])
    expected = [
        ("missing", "at::Tensor(const at::Tensor&, double)", "opwright::no_kernel"),
        ("argument", "at::Tensor(const at::Tensor&, double)", "found_kernel<at::Tensor(const at::Tensor&, float)>"),
        ("result", "std::vector<at::Tensor>(const at::Tensor&)", "found_kernel<at::Tensor(const at::Tensor&)>"),
        ("none", "at::Tensor(const at::Tensor&, c10::ArrayRef<longint>)", "opwright::overloads_of_other_types"),
    ]
    errors = [_plain(error) for error in _errors(compiler, out / "src" / "acme" / "register_0.cpp")]
    assert len(errors) == len(expected), errors
    for error, (operator, type, found) in zip(errors, expected, strict=True):
        for part in (f"acme::_ops::{operator}", type, found):
            assert _plain(part) in error, error


@pytest.mark.thorough
def test_a_definition_of_another_type_is_an_error(
    program: str, torch: ModuleType, generated_acme: Path, tmp_path: Path
) -> None:
    """Where generated code declares the kernels, the definition of a function that it does not declare fails."""
    source = tmp_path / "kernels.cpp"
    source.write_text(
        """
        #include <acme/kernels.h>
        at::Tensor acme::native::scale_cpu(const at::Tensor& self, float factor) { return self; }
        """,
        encoding="utf-8",
    )
    (error,) = _errors(Compiler(program, tmp_path, [generated_acme / "include", INCLUDE]), source)
    assert "acme::native::scale_cpu(const at::Tensor&, float)" in error


@pytest.mark.thorough
def test_a_kernel_without_definition_is_an_error(acme_objects: list[Path], program: str, tmp_path: Path) -> None:
    """Where generated code declares the kernels, the linker names one that has no definition."""
    without_kernels = [path for path in acme_objects if path.stem != "kernels"]
    command = [program, "-shared", *map(str, without_kernels), "-o", str(tmp_path / "acme.so"), "-Wl,--no-undefined"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "undefined reference to `acme::native::scale_cpu(at::Tensor const&, double)'" in done.stderr


def test_declared_kernels_are_not_declared_again(generate_library: GenerateLibrary) -> None:
    """If the author's headers declare the kernels, the generated header has nothing but structured classes."""
    out = generate_library(OPERATORS)
    header = (out / "include" / "acme" / "kernels.h").read_text()
    source = (out / "src" / "acme" / "register_0.cpp").read_text()
    assert "_cpu" not in header
    assert "#include <kernels_of_acme.h>" in source
    checked = "::acme::native::right_cpu, acme::_ops::right, at::Tensor (const at::Tensor &, double)"
    assert f"OPWRIGHT_KERNEL(right_cpu, {checked});" in source
    assert 'm.impl("right", acme::kernels::right_cpu.pointer);' in source
    assert "return acme::kernels::converted_cpu(self, C10_AS_INTARRAYREF_SLOW(sizes));" in source
