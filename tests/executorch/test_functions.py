"""The functions of `Functions.h` in each mode, and what stubs of custom operators return."""

from __future__ import annotations

from pathlib import Path

import pytest

import opwright
from opwright.emit.emitter import Job, Options
from opwright.mobile.executorch.custom_operators import stub_result
from opwright.mobile.executorch.functions_header import emitters
from opwright.mobile.executorch.kernels import emitters as kernel_emitters
from opwright.mobile.executorch.template_names import TEMPLATES
from opwright.mobile.executorch_choices import ExecutorchOptions
from opwright.mobile.executorch_operators import (
    ExecutorchKernel,
    ExecutorchOperator,
    ExecutorchOperators,
    RunExecutorch,
)
from opwright.schema import parse_schema
from tests.emit.emitting import job_of, slots_of

FOLDER = Path(opwright.__file__).parent / "mobile" / "executorch" / "templates"

ENTRIES = """
- func: twice(Tensor self, int n=1) -> Tensor
  dispatch:
    CPU: twice
- func: turned(Tensor self, int n=1) -> Tensor
  variants: method
  dispatch:
    CPU: turned
- func: by_hand(Tensor self) -> Tensor
  manual_kernel_registration: True
"""


def functions(options: ExecutorchOptions, *, custom: bool = False, kernels: tuple[ExecutorchKernel, ...] = ()) -> str:
    """The declarations of `Functions.h` for all operators."""
    plain = job_of(ENTRIES)
    operators = tuple(
        ExecutorchOperator(function, str(function.schema), kernels, custom) for function in plain.catalog.functions
    )
    job = Job(
        plain.catalog, plain.rules, Options(guests=(options,)), guests=[RunExecutorch(ExecutorchOperators(operators))]
    )
    return "".join(slots_of(emitters, "Functions.h", job)["Functions_declarations"])


def declared(name: str, returned: str, *, self: str = "const torch::executor::Tensor & self") -> str:
    """The function of an operator with an integer."""
    tensor, default = ("at::Tensor", "=1") if "at::" in self else ("torch::executor::Tensor", "")
    context = "torch::executor::KernelRuntimeContext & context"
    return (
        f"\n// aten::{name}(Tensor self, int n=1) -> Tensor\n"
        f"TORCH_API inline {tensor} {name}({context}, {self}, int64_t n{default}) {{\n    {returned}\n}}\n"
    )


def test_functions_call_kernels() -> None:
    """The kernel gets the context; one that is registered by hand has no function."""
    text = functions(ExecutorchOptions(), kernels=(ExecutorchKernel("default", "opt", "mine::native"),))
    assert declared("twice", "return ::mine::native::opt(context, self, n);") in text
    assert "by_hand" not in text


def test_functions_of_pytorchs_tensors() -> None:
    """With PyTorch's tensors, its own operators are called as C++ calls them, custom ones by their kernels."""
    at_self = "const at::Tensor & self"
    text = functions(ExecutorchOptions(aten_mode=True))
    assert declared("twice", "return at::twice(self, n);", self=at_self) in text
    assert declared("turned", "return self.turned(n);", self=at_self) in text
    assert "return at::by_hand(self);" in text
    kernels = (ExecutorchKernel("default", "opt", "mine::native"),)
    text = functions(ExecutorchOptions(aten_mode=True), custom=True, kernels=kernels)
    assert declared("twice", "return ::mine::native::opt(self, n);", self=at_self) in text
    assert "by_hand" not in text


def test_functions_without_kernels() -> None:
    """A call of an operator without kernel ends the program; ExecuTorch's generator knows default kernels alone."""
    text = functions(ExecutorchOptions())
    assert 'ET_ASSERT_UNREACHABLE_MSG("The number of native function(s) binding to twice is 0.");' in text
    special = (ExecutorchKernel("v1/6;0", "opt", "mine::native"),)
    assert "return ::mine::native::opt(context, self, n);" in functions(ExecutorchOptions(), kernels=special)
    assert "return ::::(context, self, n);" in functions(ExecutorchOptions(as_reference=True), kernels=special)
    several = (*special, ExecutorchKernel("v1/7;0", "other", "mine::native"))
    text = functions(ExecutorchOptions(as_reference=True), kernels=several)
    assert "return ::mine::native::opt(context, self, n);" in text


@pytest.mark.parametrize(
    ("schema", "result"),
    [
        ("f(int n) -> Tensor", "at::Tensor()"),
        ("f(int n, Tensor x, Tensor y) -> Tensor", "x"),
        ("f(Tensor x, int n) -> int", "n"),
        ("f(Tensor x) -> int", None),
        ("f(Tensor x) -> ()", ""),
        ("f(Tensor x) -> (Tensor, Tensor)", "::std::tuple<at::Tensor, at::Tensor>(at::Tensor(), at::Tensor())"),
        ("f(Tensor x) -> (Tensor, int)", None),
        ("f.out(Tensor x, *, Tensor(a!) out) -> Tensor(a!)", "out"),
        (
            "f.out(Tensor x, *, Tensor(a!) a, Tensor(b!) b) -> (Tensor(a!), Tensor(b!))",
            "::std::tuple<at::Tensor &, at::Tensor &>(a, b)",
        ),
    ],
)
def test_what_stubs_return(schema: str, result: str | None) -> None:
    """An out argument, an argument of the same type, or empty tensors; some results no stub can make."""
    found = stub_result(parse_schema(schema))
    assert (found and " ".join(found.split()).replace("( ", "(").replace(" )", ")")) == result


def test_templates_are_named() -> None:
    """Programs name all templates, and no others."""
    assert sorted(TEMPLATES) == sorted(path.name for path in FOLDER.iterdir())


def test_each_result_is_logged() -> None:
    """A boxed kernel logs its results one after the other."""
    entry = "two.out(Tensor self, *, Tensor(a!) a, Tensor(b!) b) -> (Tensor(a!), Tensor(b!))"
    plain = job_of(
        f"- func: {entry}\n  dispatch:\n    CPU: two\n- func: two(Tensor self) -> (Tensor, Tensor)\n"
        "  dispatch:\n    CPU: two_\n"
    )
    kernel = ExecutorchKernel("default", "opt", "mine::native")
    operator = ExecutorchOperator(plain.catalog["two.out"], entry, (kernel,))
    job = Job(plain.catalog, plain.rules, plain.options, guests=[RunExecutorch(ExecutorchOperators((operator,)))])
    texts = [
        text
        for emitter in kernel_emitters(job)
        for unit in emitter.units(job)
        for value in emitter.fragment(unit, job.context(emitter.reads)).values()
        for text in ([value] if isinstance(value, str) else value)
    ]
    (logs,) = {
        tuple(line.strip() for line in text.splitlines() if "event_tracer_log_evalue" in line)
        for text in texts
        if "event_tracer_log_evalue" in text
    }
    assert len(logs) == 2
    assert all(line.startswith("internal::event_tracer_log_evalue(") for line in logs)
