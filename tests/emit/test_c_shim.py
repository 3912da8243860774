"""C shims: which operators have them, what they look like in C, and what has no form in C."""

from __future__ import annotations

import pytest

from opwright.backends.emit.device_shims import device_shims
from opwright.backends.external_backend import RunBackends
from opwright.backends.wrapper_options import EntryOptions
from opwright.convention import c_shim
from opwright.convention.c_shim import NoCForm, left_out, parameters, results
from opwright.emit.aten.c_shim import (
    Target,
    check_c_forms,
    emitters,
    header_text,
    shim_declaration,
    shim_definition,
    shim_kernel_key,
    shim_unit,
    targets,
)
from opwright.emit.emitter import Options
from opwright.model.dispatch_key import COMPOSITE_EXPLICIT, CPU, CUDA
from opwright.release.tables import ShimOperator, ShimVersion
from opwright.schema import parse_schema
from opwright.source.diagnostic import Diagnostics, Severity
from opwright.source.render import render_short
from tests.emit.emitting import job_of, paths_of
from tests.emit.external_backends import backend_job

_CPU = Target("cpu", CPU)
_PLAIN = ShimOperator(None, ())


def _parameter(argument: str) -> c_shim.CParameters:
    return parameters(parse_schema(f"f({argument}) -> Tensor").arguments.all[0])


@pytest.mark.parametrize(
    ("argument", "declared", "passed"),
    [
        ("Tensor t", "AtenTensorHandle t", "resolve_tensor_dispatch_flags(t)"),
        ("Tensor(a!) t", "AtenTensorHandle t", "*tensor_handle_to_tensor_pointer(t)"),
        ("Tensor? t", "AtenTensorHandle* t", "resolve_tensor_dispatch_flags(t)"),
        ("bool b", "int32_t b", "b"),
        ("int? n", "int64_t* n", "pointer_to_optional<int64_t>(n)"),
        ("ScalarType d", "int32_t d", "static_cast<c10::ScalarType>(d)"),
        (
            "Device d",
            "int32_t d, int32_t d_index_",
            "c10::Device(static_cast<c10::DeviceType>(d), static_cast<c10::DeviceIndex>(d_index_))",
        ),
        ("Device? d", "int32_t* d, int32_t d_index_", "pointer_to_optional_device(d, d_index_)"),
        ("SymInt[] s", "const int64_t* s, int64_t s_len_", "pointer_to_list<c10::SymInt>(s, s_len_)"),
        ("int[]? s", "const int64_t** s, int64_t s_len_", "pointer_to_optional_list<int64_t>(s, s_len_)"),
        ("bool[3] m", "const int32_t* m, int64_t m_len_", "pointer_to_list<3>(m)"),
        (
            "Tensor[] l",
            "const AtenTensorHandle* l, int64_t l_len_",
            "resolve_tensor_list_dispatch_flags(l, l_len_)",
        ),
    ],
)
def test_forms_in_c(argument: str, declared: str, passed: str) -> None:
    """Each kind of argument has its C parameters, and an expression that makes the C++ value of them."""
    cparameters = _parameter(argument)
    assert ", ".join(cparameters.declarations) == declared
    assert cparameters.expression == passed


@pytest.mark.parametrize("argument", ["Storage s", "Device[] d", "int[][] n", "Stream? s"])
def test_types_without_form_in_c(argument: str) -> None:
    """What has no form in C is refused, and the argument named."""
    with pytest.raises(NoCForm) as refused:
        _parameter(argument)
    assert refused.value.what == f"argument `{argument.split()[1]}`"


def test_results_leave_by_pointer() -> None:
    """Each return has a pointer; what the caller passed in is not returned again."""
    cresult, two = results(parse_schema("f(Tensor self) -> (Tensor, SymInt)"))
    assert cresult.declaration == "AtenTensorHandle* ret0"
    assert cresult.statement == "*ret0 = new_tensor_handle(std::move(std::get<0>(tmp_result)));"
    assert two.statement == "*ret1 = std::get<1>(tmp_result).expect_int();"
    assert results(parse_schema("f_(Tensor(a!) self) -> Tensor(a!)")) == []
    (nullable,) = results(parse_schema("linear_backward(Tensor self) -> Tensor"))
    assert nullable.statement == "if (ret0) { *ret0 = new_tensor_handle(std::move(tmp_result)); }"


def test_missing_arguments_are_passed_as_defaults() -> None:
    """An earlier version of a shim passes the default, or nothing where there is none."""
    size, flag = parse_schema("f(int? size, bool causal=False) -> Tensor").arguments.all
    assert (left_out(flag), left_out(size)) == ("false", "std::nullopt")


GROW = """
- func: grow(Tensor self, SymInt n, bool fast=False) -> Tensor
  dispatch:
    CPU: grow_cpu_symint
"""


def test_versions_of_a_shim() -> None:
    """The newest version comes first; the oldest goes without the arguments added since."""
    row = ShimOperator("TORCH_VERSION_2_10_0", (ShimVersion("v2", ("fast",), "TORCH_VERSION_2_12_0"),))
    made = shim_unit(job_of(GROW).catalog["grow"], row, _CPU, own_only=False)
    assert made is not None
    assert made.include == "#include <ATen/ops/grow_cpu_dispatch.h>"
    newest, oldest = made.shim.functions
    assert (
        shim_declaration(newest)
        == """\
#if TORCH_FEATURE_VERSION >= TORCH_VERSION_2_12_0
AOTI_TORCH_EXPORT AOTITorchError aoti_torch_cpu_grow_v2(AtenTensorHandle self, int64_t n, int32_t fast, \
AtenTensorHandle* ret0);
#endif // TORCH_FEATURE_VERSION >= TORCH_VERSION_2_12_0"""
    )
    assert (
        shim_definition(oldest)
        == """
AOTITorchError aoti_torch_cpu_grow(AtenTensorHandle self, int64_t n, AtenTensorHandle* ret0) {
    AOTI_TORCH_CONVERT_EXCEPTION_TO_ERROR_CODE({
        auto tmp_result = at::cpu::grow_symint(
            resolve_tensor_dispatch_flags(self), n, false
        );
\t\t*ret0 = new_tensor_handle(std::move(tmp_result));
    });
}
"""
    )


def test_outs_come_first() -> None:
    """An out overload takes its outs first and returns nothing."""
    entries = (
        "- func: add_up(Tensor self) -> Tensor\n  dispatch:\n    CPU: add_up\n"
        "- func: add_up.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)\n  dispatch:\n    CPU: add_up_out\n"
    )
    made = shim_unit(job_of(entries).catalog["add_up.out"], _PLAIN, _CPU, own_only=False)
    assert made is not None
    text = shim_definition(made.shim.functions[0])
    assert "aoti_torch_cpu_add_up_out(AtenTensorHandle out, AtenTensorHandle self) {" in text
    assert "        at::cpu::add_up_out(\n" in text


def test_dispatcher_shim_of_a_method_with_symbolic_integers() -> None:
    """A method has no function in `at`, but a template in `at::symint`."""
    entries = "- func: grow(Tensor self, SymInt n) -> Tensor\n  variants: method\n"
    made = shim_unit(job_of(entries).catalog["grow"], _PLAIN, Target("aten", None), own_only=False)
    assert made is not None
    assert made.shim.functions[0].called == "at::symint::grow<c10::SymInt>"
    assert made.include == "#include <ATen/ops/grow.h>"


def test_kernel_that_a_shim_calls() -> None:
    """A device's kernel goes before shared ones, which out-of-tree devices do not get at all."""
    entries = GROW.replace("CPU: grow_cpu_symint", "CPU: a_symint\n    CompositeExplicitAutograd: b_symint")
    function = job_of(entries).catalog["grow"]
    assert shim_kernel_key(function, CPU, own_only=False) is CPU
    assert shim_kernel_key(function, CUDA, own_only=False) is COMPOSITE_EXPLICIT
    assert shim_kernel_key(function, CUDA, own_only=True) is None


def test_delegating_overloads_use_the_kernel_of_their_out() -> None:
    """The functional form of a structured operation has a kernel where its out form has one."""
    entries = (
        "- func: up(Tensor self) -> Tensor\n  structured_delegate: up.out\n"
        "- func: up.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)\n  structured: True\n"
        "  dispatch:\n    CPU: up_out\n"
    )
    function = job_of(entries).catalog["up"]
    assert shim_kernel_key(function, CPU, own_only=False) is CPU
    assert shim_kernel_key(function, CUDA, own_only=False) is None


def test_operators_without_form_in_c_are_noted() -> None:
    """An operator of the table that returns a list gets no shim, and a note says which return is to blame."""
    entries = "- func: amax(Tensor self, Storage kept) -> Tensor\n"
    job = job_of(entries)
    sink = Diagnostics()
    check_c_forms(job, sink)
    assert {diagnostic.severity for diagnostic in sink.sorted()} == {Severity.NOTE}
    assert "no C shim for `amax` on aten: argument `kept` of type `Storage` has no form in C" in render_short(sink)
    assert "aoti_torch_aten_amax" not in header_text(targets(job)[-1], job)


def test_headers_are_written_on_demand_only() -> None:
    """Sources are made in every run, headers only where they are to be updated."""
    job = job_of(GROW)
    sources = paths_of(emitters(job), job)
    assert "aoti/c_shim_cpu.cpp" in sources
    assert not [path for path in sources if path.endswith(".h")]
    updating = job_of(GROW, Options(update_c_shim=True))
    assert "aoti/c_shim_cpu.h" in paths_of(emitters(updating), updating)


def test_shims_of_the_device_of_a_backend() -> None:
    """Named operators have one where the device has a kernel for them: the backend's own, or a shared one."""
    entries = GROW + (
        "- func: shared(Tensor self) -> Tensor\n  dispatch:\n    CompositeExplicitAutograd: shared\n"
        "- func: other(Tensor self) -> Tensor\n  dispatch:\n    CPU: other\n"
        "- func: amax(Tensor self, Storage kept) -> Tensor\n"
        "- func: unnamed(Tensor self) -> Tensor\n"
    )
    job = backend_job(entries, {"grow": EntryOptions()})
    names = [f"aten.{name}.default" for name in ("shared", "other", "missing", "amax", "grow")]
    shims = device_shims(job, job.of(RunBackends).backends[0], "acme", names)
    assert [(shim.head.partition("(")[0].split()[-1], shim.called) for shim in shims] == [
        ("aoti_torch_acme_grow", "at::privateuse1::grow_symint"),
        ("aoti_torch_acme_shared", "at::compositeexplicitautograd::shared"),
    ]
