"""Backend files that are made from hand-written registrations register the same kernels."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from opwright.cli.main import main
from tests.compile.compiler import Compiler, compiler_program
from tests.library.conftest import INCLUDE

KERNELS = """\
#include <ATen/core/Tensor.h>
#include <c10/core/SymIntArrayRef.h>

namespace acme {
at::Tensor add(const at::Tensor& self, const at::Tensor& other, const at::Scalar& alpha);
at::Tensor view(const at::Tensor& self, c10::SymIntArrayRef size);
at::Tensor reshape(const at::Tensor& self, at::IntArrayRef shape);
at::Tensor mm(const at::Tensor& self, const at::Tensor& other);
at::Tensor mul(const at::Tensor& self, const at::Tensor& other);
}  // namespace acme
"""
DEFINITIONS = """\
#include "kernels.h"

namespace acme {
at::Tensor add(const at::Tensor& self, const at::Tensor&, const at::Scalar&) { return self; }
at::Tensor view(const at::Tensor& self, c10::SymIntArrayRef) { return self; }
at::Tensor reshape(const at::Tensor& self, at::IntArrayRef) { return self; }
at::Tensor mm(const at::Tensor& self, const at::Tensor&) { return self; }
at::Tensor mul(const at::Tensor& self, const at::Tensor&) { return self; }
}  // namespace acme
"""
REGISTRATIONS = """\
#include <ATen/native/CPUFallback.h>
#include <torch/library.h>
#include "kernels.h"

namespace {

at::Tensor wrapper_view(const at::Tensor& self, c10::SymIntArrayRef size) {
  return acme::view(self, size);
}

at::Tensor only_here(const at::Tensor& self) {
  return acme::mul(self, self);
}

void on_the_cpu(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  at::native::cpu_fallback(op, stack);
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("add.Tensor", &acme::add);
  m.impl("view", wrapper_view);
  m.impl("reshape", TORCH_FN(acme::reshape));
  m.impl("relu", &only_here);
  m.impl("sub.Tensor", torch::CppFunction::makeFromBoxedFunction<&on_the_cpu>());
#ifdef ACME_TRIL
  m.impl("tril", [](const at::Tensor& self, int64_t diagonal) { return self; });
#endif
}

TORCH_LIBRARY_IMPL(aten, SparsePrivateUse1, m) {
  m.impl("mm", &acme::mm);
}

TORCH_LIBRARY_IMPL(aten, AutogradPrivateUse1, m) {
  m.impl("mul.Tensor", &acme::mul);
}

TORCH_LIBRARY_IMPL(aten, CPU, m) {
  m.impl("gone", &acme::mul);
}

TORCH_LIBRARY_IMPL(_, PrivateUse1, m) {
  m.fallback(torch::CppFunction::makeFromBoxedFunction<&on_the_cpu>());
}

}  // namespace
"""
FILE = """\
# From registrations.cpp.
backend: PrivateUse1
cpp_namespace: acme
# The sources neither check nor set devices, and no overload follows from another.
device_guard: false
derived_overloads: false
fallback: cpu
# The sources register no fallthrough for autocast: operators fail under `torch.autocast`.
autocast_fallthrough: false
supported:
- add.Tensor: {kernel: acme::add}
- view: {kernel: acme::view}
- reshape: {kernel: acme::reshape, override_composite: true}
autograd:
- mul.Tensor: {kernel: acme::mul}
sparse:
- mm: {kernel: acme::mm}
symint: [view]
# These stay in the sources: generated code cannot name their kernels.
manual:
- relu  # only_here
- sub.Tensor  # torch::CppFunction::makeFromBoxedFunction<&on_the_cpu>()
"""
#: What the file takes from the hands of the author.
TAKEN = {"add.Tensor", "view", "reshape", "mm", "mul.Tensor"}

#: Registrations in the way of a project: its own macro for blocks, a macro for the key, and an alias of a namespace.
PROJECT = {
    "project/base/key.h": "#define ACME_KEY PrivateUse1\n#define ACME_AUTOCAST CONCAT(Autocast, ACME_KEY)\n",
    "project/base/impl.h": """\
#include "project/base/key.h"
#define ACME_IMPL(m) TORCH_LIBRARY_IMPL(aten, ACME_KEY, m)
namespace acme::native { at::Tensor relu(const at::Tensor& self); }
""",
    "project/aten/kernels.cpp": """\
#include "project/base/impl.h"
namespace kernels = acme::native;
ACME_IMPL(m) {
  m.impl("abs", &kernels::abs);
}
ACME_LIBRARY_IMPL(aten, ACME_KEY, m) {
  m.impl("relu", [](const at::Tensor& self) { return kernels::relu(self); });
}
""",
    "project/aten/autocast.cpp": """\
#include "project/base/key.h"
#include <ATen/autocast_mode.h>
#include <torch/library.h>

TORCH_LIBRARY_IMPL(_, ACME_AUTOCAST, m) {
  m.fallback(torch::CppFunction::makeFallthrough());
}

using at::Scalar, at::ScalarType, at::Tensor;
namespace at::autocast {
TORCH_LIBRARY_IMPL(aten, AutocastPrivateUse1, m) {
  KERNEL_PRIVATEUSEONE(mm, lower_precision_fp)
  KERNEL(c10::DeviceType::PrivateUse1, pow, Tensor_Scalar, fp32)
  KERNEL_DIFFERENT_REDISPATCH_SIGNATURE_PRIVATEUSEONE(
      ADD_NS(norm), "norm.Scalar", Tensor(const Tensor&, const Scalar&),
      Tensor(const Tensor&, const std::optional<Scalar>&, ScalarType), fp32_append_dtype)
}
}  // namespace at::autocast
""",
}
ENTRIES = """\
supported:
- abs: {kernel: acme::native::abs}
- relu: {kernel: acme::native::relu}
autocast:
- mm: {policy: lower_precision_fp}
- pow.Tensor_Scalar: {policy: fp32}
- norm.Scalar: {policy: fp32_append_dtype}
"""

ALIKE = (
    "nothing was compared with a running library: the sources and the file register 5 kernels alike, "
    "0 differences in operators, keys and called functions\n"
)

#: Prints the operators for which a shared object registers kernels under each key.
REGISTERED = """
import json, sys, torch
names = [n.removeprefix("aten::") for n in torch._C._dispatch_get_all_op_names() if n.startswith("aten::")]
keys = ("PrivateUse1", "AutogradPrivateUse1", "SparsePrivateUse1", "AutocastPrivateUse1")
before = {(n, k) for n in names for k in keys if torch._C._dispatch_has_kernel_for_dispatch_key(f"aten::{n}", k)}
torch.ops.load_library(sys.argv[1])
after = {(n, k) for n in names for k in keys if torch._C._dispatch_has_kernel_for_dispatch_key(f"aten::{n}", k)}
print(json.dumps(sorted(after - before)))
"""


@pytest.fixture
def sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder with the sources of a backend, which is the working folder."""
    for name, text in {"kernels.h": KERNELS, "kernels.cpp": DEFINITIONS, "registrations.cpp": REGISTRATIONS}.items():
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_files_have_what_sources_register(sources: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each kernel with a name is an entry; what has none stays, with its place and a reason."""
    assert main(["import", "kernels.h", "kernels.cpp", "registrations.cpp", "--backend", "--out", "acme.yaml"]) == 0
    assert (sources / "acme.yaml").read_text() == FILE
    said = capsys.readouterr().out.splitlines()
    taken = [line for line in said if line.startswith("in the file: ")]
    assert taken == ["in the file: registrations.cpp: 20-22, 31, 35, 43"]
    stays = {int(line.split(":")[2]): line for line in said if line.startswith("stays")}
    assert set(stays) == {23, 24, 26, 39}
    assert "`only_here` can only be named in its own file" in stays[23]
    assert "`sub.Tensor` is `manual` in the file" in stays[24]
    assert "under `defined(ACME_TRIL)`" in stays[26].replace("ifdef ACME_TRIL", "defined(ACME_TRIL)")
    assert "`gone` is for CPU, and the file is for PrivateUse1" in stays[39]
    (sources / "acme.yaml").write_text(f"# Ours.\n{FILE}")
    assert main(["import", ".", "--backend", "--out", "acme.yaml"]) == 1
    assert "E2402" in capsys.readouterr().err


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder with a project that has macros of its own, which is the working folder."""
    for name, text in PROJECT.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_macros_of_a_project_are_read(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Headers, included from a folder above, have the key and the macros of blocks; policies become entries."""
    command = ["import", "project/aten", "--backend", "--out", "acme.yaml"]
    assert main(command) == 0
    text = (project / "acme.yaml").read_text()
    assert text.startswith("# From autocast.cpp, kernels.cpp.\nbackend: PrivateUse1\n")
    assert text.endswith(f"derived_overloads: false\n{ENTRIES}")
    said = capsys.readouterr().out
    assert "stays" not in said
    assert "autocast.cpp: 6, 12-16" in said
    assert "kernels.cpp: 4, 7" in said
    assert main([*command, "--check"]) == 0
    assert capsys.readouterr().out == ALIKE


def test_a_key_that_is_an_unknown_macro_is_asked_for(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Where nothing defines the macro of the key, the help names it, and the option that gives it a meaning works."""
    (project / "project/base/key.h").unlink()
    command = ["import", "project/aten/kernels.cpp", "--backend", "--out", "acme.yaml"]
    assert main(command) == 1
    assert "`-D ACME_KEY=PrivateUse1`" in capsys.readouterr().err
    assert main([*command, "-D", "ACME_KEY=PrivateUse1"]) == 0
    assert "- abs: {kernel: acme::native::abs}" in (project / "acme.yaml").read_text()


def test_lists_of_pytorch_are_read(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """PyTorch has macros for the operators of a policy: a project calls them with a macro of its own."""
    path = project / "project/aten/autocast.cpp"
    lists = "#define OURS(...) KERNEL(c10::DeviceType::PrivateUse1, __VA_ARGS__, promote)\n  AT_FORALL_PROMOTE(OURS)\n"
    lists += '  m.impl("binary_cross_entropy", TORCH_FN((&::acme::banned)));\n'
    path.write_text(path.read_text().replace("  KERNEL_PRIVATEUSEONE(mm, lower_precision_fp)\n", lists))
    command = ["import", "project/aten", "--backend", "--out", "acme.yaml"]
    assert main(command) == 0
    text = (project / "acme.yaml").read_text()
    assert {"- atan2: {policy: promote}", "- dot: {policy: promote}", "- scatter_add: {policy: promote}"} < {
        *text.split("\n")
    }
    assert "- binary_cross_entropy: {kernel: acme::banned}" in text
    assert "autocast.cpp: 6, 13-18" in capsys.readouterr().out
    assert main([*command, "--check"]) == 0


def test_policies_that_nobody_knows_stay(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A policy that is not PyTorch's is not one of autocast sections."""
    path = project / "project/aten/autocast.cpp"
    path.write_text(path.read_text().replace("Tensor_Scalar, fp32)", "Tensor_Scalar, fp64)"))
    assert main(["import", "project/aten", "--backend", "--out", "acme.yaml"]) == 0
    assert "autocast.cpp:13: autocast has no policy `fp64`" in capsys.readouterr().out
    assert "pow" not in (project / "acme.yaml").read_text()


def test_fallbacks_that_do_more_stay(sources: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A fallback with code of its own is not PyTorch's: it stays, and the file has none."""
    path = sources / "registrations.cpp"
    path.write_text(path.read_text().replace("  at::native::cpu_fallback", "  check(op);\n  at::native::cpu_fallback"))
    assert main(["import", "registrations.cpp", "--backend", "--out", "acme.yaml"]) == 0
    assert "does more than PyTorch's fallback to the CPU" in capsys.readouterr().out
    assert "fallback" not in (sources / "acme.yaml").read_text().replace("cpu_fallback", "").partition("manual")[0]


def test_fallbacks_under_conditions_stay(sources: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A build may lack such a fallback: the file has none."""
    path = sources / "registrations.cpp"
    call = "  m.fallback(torch::CppFunction::makeFromBoxedFunction<&on_the_cpu>());\n"
    path.write_text(path.read_text().replace(call, f"#ifdef ACME_CPU\n{call}#endif\n"))
    assert main(["import", "registrations.cpp", "--backend", "--out", "acme.yaml"]) == 0
    assert "`fallback` stays in the source" in capsys.readouterr().out
    assert "fallback: cpu" not in (sources / "acme.yaml").read_text()


@pytest.mark.thorough
def test_autocast_falls_through_where_the_sources_say_so(sources: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """PyTorch takes one fallthrough for a key: generated code has it only in place of one in the sources."""
    command = ["import", ".", "--backend", "--out", "acme.yaml"]
    assert main(command) == 0
    assert "autocast_fallthrough: false" in (sources / "acme.yaml").read_text()
    block = "TORCH_LIBRARY_IMPL(_, AutocastPrivateUse1, m) {\n  m.fallback(torch::CppFunction::makeFallthrough());\n}\n"
    (sources / "autocast.cpp").write_text(block)
    assert main([*command, "--check"]) == 1
    assert "the kernel for all operators of AutocastPrivateUse1 is not generated" in capsys.readouterr().out
    assert main([*command, "--force"]) == 0
    assert "autocast_fallthrough" not in (sources / "acme.yaml").read_text()
    assert "in the file: autocast.cpp: 2" in capsys.readouterr().out
    assert main([*command, "--check"]) == 0


def test_comments_define_no_fallback(sources: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A definition that is commented out says nothing about the one that is compiled."""
    path = sources / "registrations.cpp"
    body = "{\n  at::native::cpu_fallback(op, stack);\n}"
    old = "// void on_the_cpu(int op, int stack) { at::native::cpu_fallback(op, stack); }"
    path.write_text(path.read_text().replace(body, f"{{\n  check(op);\n}}\n{old}"))
    assert main(["import", "registrations.cpp", "--backend", "--out", "acme.yaml"]) == 0
    assert "does more than PyTorch's fallback to the CPU" in capsys.readouterr().out
    assert "fallback: cpu" not in (sources / "acme.yaml").read_text()


def test_only_kernels_of_the_device_are_manual(sources: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A kernel without a name for another key of the device stays, and is not said to be in the file."""
    path = sources / "registrations.cpp"
    block = "TORCH_LIBRARY_IMPL(aten, AutogradPrivateUse1, m) {\n"
    added = '  m.impl("neg", torch::CppFunction::makeFallthrough());\n'
    path.write_text(path.read_text().replace(block, block + added))
    assert main(["import", "registrations.cpp", "--backend", "--out", "acme.yaml"]) == 0
    assert "`neg` for AutogradPrivateUse1 is not in the file" in capsys.readouterr().out
    assert "neg" not in (sources / "acme.yaml").read_text()


def test_generated_code_registers_what_sources_do(sources: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`--check` finds no difference, and finds an entry that is missing and one too many."""
    command = ["import", "registrations.cpp", "kernels.h", "--backend", "--out", "acme.yaml"]
    assert main(command) == 0
    capsys.readouterr()
    assert main([*command, "--check"]) == 0
    assert capsys.readouterr().out == ALIKE
    text = (sources / "acme.yaml").read_text()
    (sources / "acme.yaml").write_text(text.replace("- view: {kernel: acme::view}", "- neg: {kernel: acme::neg}"))
    (sources / "acme.yaml").write_text((sources / "acme.yaml").read_text().replace("symint: [view]\n", ""))
    assert main([*command, "--check"]) == 1
    said = capsys.readouterr().out.splitlines()
    assert "`view` is not generated for PrivateUse1" in said
    assert "`neg` is generated for PrivateUse1, and not in the sources" in said
    (sources / "acme.yaml").write_text(text.replace("kernel: acme::add", "kernel: acme::mul"))
    assert main([*command, "--check"]) == 1
    said = capsys.readouterr().out.splitlines()
    assert "`add.Tensor` for PrivateUse1 calls `acme::mul`, and `acme::add` in the sources" in said


#: Registrations inside of a project's namespace, which opens one with the name of one of PyTorch's.
NESTED = """\
#include <torch/library.h>
#include <ATen/NativeFunctions.h>

namespace acme {
namespace native {
at::Tensor add(const at::Tensor& self, const at::Tensor&, const at::Scalar&) { return self; }
}  // namespace native

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("view", at::native::view);
  m.impl("unfold", TORCH_FN(::at::native::unfold));
  m.impl("alias", &at::native::alias);
  m.impl("add.Tensor", native::add);
  m.impl("bitwise_and.out", torch::CppFunction::makeFallthrough());
  m.impl("hardtanh.out", torch::CppFunction::makeFallthrough());
  m.impl("new_zeros.out", torch::CppFunction::makeFallthrough());
}
}  // namespace acme
"""


@pytest.mark.parametrize("is_compiled", [False, pytest.param(True, marks=pytest.mark.thorough)])
def test_names_mean_what_they_mean_in_their_namespace(
    is_compiled: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A namespace of PyTorch is looked up as C++ does, and only overloads that the release has are `manual`.

    The compiler takes the sources, and the code that is generated from the file, which names the same functions.
    """
    pytest.importorskip("torch")
    program = compiler_program()
    assert program is not None
    monkeypatch.chdir(tmp_path)
    Path("nested.cpp").write_text(NESTED)
    command = ["import", "nested.cpp", "--backend", "--out", "acme.yaml"]
    assert main(command) == 0
    assert "this PyTorch has no operator `bitwise_and.out`" in capsys.readouterr().out
    kernels = dict(re.findall(r"- (\S+): \{kernel: (.*)\}", Path("acme.yaml").read_text()))
    assert kernels.pop("add.Tensor") == "acme::native::add"
    assert kernels == {name: f"at::native::{name}" for name in ("view", "unfold", "alias")}
    manual = Path("acme.yaml").read_text().partition("manual:")[2]
    assert re.findall(r"- (\S+)", manual) == ["hardtanh.out", "new_zeros.out"]
    assert main([*command, "--check"]) == 0
    assert main(["generate", "--backend", "acme.yaml", "--out", "out"]) == 0
    if is_compiled:
        compiler = Compiler(program, tmp_path, [tmp_path / "out"])
        for source in (tmp_path / "nested.cpp", tmp_path / "out" / "RegisterPrivateUse1.cpp"):
            compiler.object(source)


@pytest.mark.thorough
def test_dispatchers_have_the_same_kernels(sources: Path) -> None:
    """A process with the generated registrations has the kernels that one with the hand-written ones has."""
    pytest.importorskip("torch")
    program = compiler_program()
    assert program is not None
    assert main(["import", "registrations.cpp", "kernels.h", "--backend", "--out", "acme.yaml"]) == 0
    (sources / "acme.yaml").write_text((sources / "acme.yaml").read_text().replace("fallback: cpu\n", ""))
    assert main(["generate", "--backend", "acme.yaml", "--out", "out"]) == 0
    (sources / "build").mkdir()
    compiler = Compiler(program, sources / "build", [sources / "out", sources])
    kernels = compiler.object(sources / "kernels.cpp")
    hand = compiler.link("hand", [kernels, compiler.object(sources / "registrations.cpp")])
    ours = compiler.link("ours", [kernels, *generated_objects(compiler, sources / "out")])
    registered = [registered_by(library) for library in (hand, ours)]
    assert registered[1] == [row for row in registered[0] if row[0] in TAKEN]
    assert len(registered[1]) == 5


@pytest.mark.thorough
def test_dispatchers_have_the_same_policies(project: Path) -> None:
    """A process with the generated policies of autocast has kernels where one with PyTorch's macros has them."""
    pytest.importorskip("torch")
    program = compiler_program()
    assert program is not None
    source = project / "project/aten/autocast.cpp"
    assert main(["import", str(source), "--backend", "--out", "acme.yaml"]) == 0
    assert main(["generate", "--backend", "acme.yaml", "--out", "out"]) == 0
    # The compiler knows CONCAT from elsewhere.
    source.write_text(source.read_text().replace("ACME_AUTOCAST", "AutocastPrivateUse1"))
    (project / "build").mkdir()
    compiler = Compiler(program, project / "build", [project / "out", project, INCLUDE])
    hand = compiler.link("hand", [compiler.object(source)])
    ours = compiler.link("ours", generated_objects(compiler, project / "out"))
    assert registered_by(ours) == registered_by(hand)
    assert {name for name, _ in registered_by(ours)} == {"mm", "pow.Tensor_Scalar", "norm.Scalar"}


def generated_objects(compiler: Compiler, folder: Path) -> list[Path]:
    """The object files of the generated registrations."""
    return [compiler.object(source) for source in sorted(folder.rglob("Register*.cpp"))]


def registered_by(library: Path) -> list[list[str]]:
    """The operators and keys for which a library registers kernels."""
    command = [sys.executable, "-c", REGISTERED, str(library)]
    return [*json.loads(subprocess.check_output(command, text=True))]


@pytest.mark.parametrize(
    "words",
    [
        ["--edit"],
        ["--module", "acme._C"],
        ["--derivatives", "derivatives.yaml"],
        ["--outputs-from", "acme._C"],
        ["--namespace", "acme"],
        ["--mutates", "step=param"],
        ["--by-hand", "kernels.cpp"],
    ],
)
def test_options_of_library_files(words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What only library files have is refused with `--backend`, and nothing is written."""
    assert main(["import", str(tmp_path), "--backend", "--out", str(tmp_path / "acme.yaml"), *words]) == 2
    assert capsys.readouterr().err == f"opwright import: error: `{words[0]}` is for library files, not `--backend`\n"
    assert not list(tmp_path.iterdir())
