"""The wrappers of a backend's operators are those that the head of its file describes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import opwright
from opwright.source.diagnostic import Diagnostics
from opwright.source.text import SourceFile
from tests.compile.compiler import Compiler, compiler_program
from tests.dialects.test_backend_dialect import pytorch
from tests.library.conftest import INCLUDE

FAMILIES = ("backend", "library")
OPERATORS = """\
backend: PrivateUse1
cpp_namespace: acme
supported: [abs]
namespace: acme
operators:
- func: scale(Tensor self, Tensor other) -> Tensor
  outputs: like(self)
- func: gate(Tensor self, Tensor other) -> Tensor
  structured_delegate: gate.out
- func: gate.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)
  structured: true
  outputs: like(self)
"""


#: The operators of PyTorch's example of a backend: two have kernels for autograd alone, and one of these is a view.
OPENREG = """\
backend: PrivateUse1
cpp_namespace: acme
supported: [abs]
namespace: acme
operators:
- func: custom_abs(Tensor input) -> Tensor
  outputs: like(input)
- func: custom_autograd_fn_aliasing(Tensor(a) input) -> Tensor(a)
  dispatch: {AutogradPrivateUse1: aliasing}
- func: custom_autograd_fn_returns_self(Tensor input) -> Tensor
  dispatch: {AutogradPrivateUse1: returns_self}
"""


def registrations(head: str, folder: Path, text: str = OPERATORS) -> str:
    """The source of the operators, for a file with more lines in its head; nothing is said of the operators."""
    file, sink = SourceFile("acme.yaml", f"{head}{text}"), Diagnostics()
    folders = opwright.build_folders(str(folder), FAMILIES)
    request = opwright.Request(pytorch(), folders, families=FAMILIES, backends=(file,))
    opwright.Generation(request, sink).write()
    assert {diagnostic.code for diagnostic in sink} <= {"W1370"}
    return (folder / "src" / "acme" / "register_0.cpp").read_text(encoding="utf-8")


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("head", "checks", "guards"),
    [
        ("", False, False),
        ("device_guard: true\n", True, True),
        ("device_guard: true\ndevice_check: false\n", False, True),
        ("device_check: true\n", True, False),
    ],
)
def test_devices(head: str, checks: bool, guards: bool, tmp_path: Path) -> None:
    """Wrappers check and set devices if the head says so, those of structured kernels too."""
    text = registrations(head, tmp_path)
    for name in ("_scale", "gate"):
        checked = f'common_device, self, "wrapper_PrivateUse1_{name}"' in text
        assert checked is checks
    assert ("const OptionalDeviceGuard device_guard(device_of(self));" in text) is guards
    assert ("guard_.reset_device(" in text) is guards
    assert ("#include <ATen/core/op_registration/adaption.h>" in text) is (checks or guards)


def test_the_display_name(tmp_path: Path) -> None:
    """The names of wrappers have the display name, and registrations the dispatch key."""
    text = registrations("display_name: Acme\ndevice_guard: true\n", tmp_path)
    assert 'm.impl("scale", &wrapper_Acme__scale);' in text
    assert "wrapper_PrivateUse1" not in text
    assert "TORCH_LIBRARY_IMPL(acme, PrivateUse1, m) {" in text


def test_kernels_for_autograd_alone(tmp_path: Path) -> None:
    """A call ends in a kernel for autograd, so that a view needs no copying form, no shapes and no other kernels."""
    text = registrations("", tmp_path, OPENREG)
    for name in ("aliasing", "returns_self"):
        registered = re.findall(rf'm\.impl\("custom_autograd_fn_{name}", .*&acme::native::{name}\)', text)
        assert len(registered) == 1
        assert text.count(f'm.impl("custom_autograd_fn_{name}"') == 1
    assert "TORCH_LIBRARY_IMPL(acme, AutogradPrivateUse1, m) {" in text
    assert "Functionalize" not in text
    assert "ADInplaceOrView" not in text


HOOKED = """\
includes: [acme/memory.h]
hooks:
- {at: before, text: "const acme::Access access;", where: {kind: structured}}
- {at: after, call: acme::done, pass: [name, result], where: {kind: kernel}}
"""
MEMORY = """\
#pragma once
#include <ATen/core/Tensor.h>

namespace acme {
struct Access {
  Access();
};
inline void done(const char*, const at::Tensor&) {}
}  // namespace acme

namespace at::native {
// A vendor may have kernels in PyTorch's namespace.
at::Tensor absolute(const at::Tensor& self);
}  // namespace at::native
"""


REQUIRED = """\
- func: ratio(Tensor x, Tensor weight) -> Tensor
  dims: {x: "*b d", weight: d, return: "*b d"}
  dtypes: {x: floating, weight: x}
  layout: {weight: contiguous}
"""


@pytest.mark.parametrize("is_compiled", [False, pytest.param(True, marks=pytest.mark.thorough)])
def test_hooks_and_checks_are_around_own_kernels(tmp_path: Path, is_compiled: bool) -> None:
    """Hooks of the head are around the kernels that they choose, behind what entries require; the header declares all.

    What is generated compiles.
    """
    pytest.importorskip("torch")
    program = compiler_program()
    assert program is not None
    operators = OPERATORS.replace("[abs]", "[abs: {kernel: 'at::native::absolute'}]") + REQUIRED
    text = registrations(HOOKED, tmp_path, operators)
    (tmp_path / "acme" / "memory.h").parent.mkdir()
    (tmp_path / "acme" / "memory.h").write_text(MEMORY)
    assert text.count("const acme::Access access;") == 2, "both overloads of the structured operator"
    assert text.count('acme::done("acme::scale", opwright_result);') == 1
    facts = "::opwright::facts(x), ::opwright::facts(weight)"
    checked = text.index(f"opwright_checks::ratio<::opwright::Concrete>({facts});")
    assert checked < text.index('acme::done("acme::ratio", opwright_result);')
    if is_compiled:
        compiler = Compiler(program, tmp_path, [tmp_path, tmp_path / "include", INCLUDE])
        for source in (tmp_path / "src/acme/register_0.cpp", *tmp_path.rglob("RegisterPrivateUse1.cpp")):
            compiler.object(source)
