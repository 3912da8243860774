"""A kernel that is missing or has another type than its operator needs is one error of the compiler or the linker."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from opwright.cli.main import main
from tests.backend.conftest import backend_compiler

pytestmark = pytest.mark.thorough

BACKEND = """
backend: PrivateUse1
display_name: Acme
cpp_namespace: acme::native
includes: [kernels_of_acme.h]
supported:
- relu: {kernel: acme::fast::relu}
- logit: {kernel: acme::fast::logit}
- unfold: {kernel: acme::fast::missing}
- dot: {kernel: acme::fast::dot}
- trace: {kernel: acme::slow::trace}
"""

#: What the author declares. The first two kernels are as they should be.
DECLARED = """
#include <ATen/core/Tensor.h>
namespace acme::fast {
at::Tensor relu(const at::Tensor& self);
at::Tensor logit(const at::Tensor& self, float eps);
at::Tensor logit(const at::Tensor& self, std::optional<double> eps);
at::Tensor dot(const at::Tensor& self, at::Tensor& tensor);
} // namespace acme::fast
namespace acme::slow {
void trace(const at::Tensor& self);
} // namespace acme::slow
"""


def stderr_of(*command: str) -> str:
    """What a program that fails prints."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    return done.stderr


def test_wrong_kernels_are_one_error_each(program: str, tmp_path: Path) -> None:
    """The error of each wrong kernel has the operator, the type that it needs, and what the headers declare."""
    file, out = tmp_path / "acme.yaml", tmp_path / "generated"
    file.write_text(BACKEND, encoding="utf-8")
    (tmp_path / "kernels_of_acme.h").write_text(DECLARED, encoding="utf-8")
    assert main(["generate", "--backend", str(file), "--torch", "auto", "--out", str(out)]) == 0
    compiler = backend_compiler(program, tmp_path, out, tmp_path)
    text = stderr_of(program, *compiler.flags(), "-fsyntax-only", str(out / "RegisterAcme.cpp"))
    errors = [line.partition("error: ")[2] for line in text.splitlines() if "error: " in line]
    assert len(errors) == 3, errors
    expected = (
        ("at::_ops::dot", "at::Tensor(const at::Tensor&, const at::Tensor&)", "found_kernel<"),
        ("at::_ops::trace", "at::Tensor(const at::Tensor&)", "found_kernel<void("),
        ("at::_ops::unfold", "at::Tensor(const at::Tensor&, long int, long int, long int)", "no_kernel"),
    )
    for error, parts in zip(sorted(errors), expected, strict=True):
        plain = error.replace(" (", "(").replace(" &", "&")
        assert all(part in plain for part in parts), (error, parts)


def test_members_of_the_class_are_checked_by_compiler_and_linker(program: str, tmp_path: Path) -> None:
    """A definition of another type does not compile, and the linker names a kernel without a definition."""
    file, out = tmp_path / "acme.yaml", tmp_path / "generated"
    head = "backend: PrivateUse1\ndisplay_name: Acme\ncpp_namespace: acme::native\n"
    file.write_text(f"{head}supported: [relu]\n", encoding="utf-8")
    assert main(["generate", "--backend", str(file), "--torch", "auto", "--out", str(out)]) == 0
    kernels = tmp_path / "kernels.cpp"
    kernels.write_text(
        '#include "AcmeNativeFunctions.h"\n'
        "at::Tensor acme::native::AcmeNativeFunctions::relu(at::Tensor self) { return self; }\n",
        encoding="utf-8",
    )
    compiler = backend_compiler(program, tmp_path, out)
    assert "acme::native::AcmeNativeFunctions::relu(at::Tensor)" in stderr_of(
        program, *compiler.flags(), "-fsyntax-only", str(kernels)
    )
    registrations = compiler.object(out / "RegisterAcme.cpp")
    link = (program, "-shared", str(registrations), "-o", str(tmp_path / "acme.so"), "-Wl,--no-undefined")
    assert "undefined reference to `acme::native::AcmeNativeFunctions::relu(at::Tensor const&)'" in stderr_of(*link)
