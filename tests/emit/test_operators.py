"""The classes of operators, and how they call what they stand for."""

from __future__ import annotations

from opwright.emit.aten.operators import declaration, definition, emitters
from opwright.emit.emitter import Options
from opwright.model.dispatch_key import CPU, CUDA
from tests.emit.emitting import job_of, paths_of, slots_of

SCALE = """
- func: scale.by(Tensor self, str mode="mean", *, SymInt n=1) -> Tensor
  dispatch:
    CPU: scale_cpu
"""


def test_class_of_an_operator() -> None:
    """The class has the dispatcher's signature, the names, and the schema as a C++ literal."""
    job = job_of(SCALE)
    assert (
        declaration(job.catalog["scale.by"])
        == r"""
struct TORCH_API scale_by {
  using schema = at::Tensor (const at::Tensor &, c10::string_view, c10::SymInt);
  using ptr_schema = schema*;
  // See Note [static constexpr char* members for windows NVCC]
  static constexpr const char* name = "aten::scale";
  static constexpr const char* overload_name = "by";
  static constexpr const char* schema_str = "scale.by(Tensor self, str mode=\"mean\", *, SymInt n=1) -> Tensor";
  static at::Tensor call(const at::Tensor & self, c10::string_view mode, c10::SymInt n);
  static at::Tensor redispatch(c10::DispatchKeySet dispatchKeySet, const at::Tensor & self, c10::string_view mode, c10::SymInt n);
};"""  # noqa: E501
    )


def test_members_go_through_the_handle() -> None:
    """`call` and `redispatch` look the operator up once, and pass all arguments on."""
    job = job_of("- func: zip() -> Tensor\n  dispatch:\n    CPU: zip_cpu\n")
    assert (
        definition(job.catalog["zip"], job)
        == """
// aten::zip() -> Tensor
static C10_NOINLINE c10::TypedOperatorHandle<zip::schema> create_zip_typed_handle() {
  return c10::Dispatcher::singleton()
      .findSchemaOrThrow(zip::name, zip::overload_name)
      .typed<zip::schema>();
}

// aten::zip() -> Tensor
at::Tensor zip::call() {

    static auto op = create_zip_typed_handle();
    return op.call();
}

// aten::zip() -> Tensor
at::Tensor zip::redispatch(c10::DispatchKeySet dispatchKeySet) {

    static auto op = create_zip_typed_handle();
    return op.redispatch(dispatchKeySet);
}
"""
    )


MIXED = """
- func: apple(Tensor self) -> Tensor
  variants: method
- func: apple_(Tensor(a!) self) -> Tensor(a!)
- func: __and__(Tensor self) -> Tensor
"""


def test_overloads_of_one_root_share_a_header() -> None:
    """In-place and dunder forms stand in the header of their base name; the collecting headers include them."""
    job = job_of(MIXED)
    paths = paths_of(emitters(job), job)
    assert [path for path in paths if path.startswith("ops/")] == ["ops/apple_ops.h", "ops/and_ops.h"]
    assert slots_of(emitters, "Operators.h", job)["Operators_includes"] == [
        "#include <ATen/ops/and_ops.h>",
        "#include <ATen/ops/apple_ops.h>",
    ]
    assert slots_of(emitters, "MethodOperators.h", job)["MethodOperators_includes"] == [
        "#include <ATen/ops/apple_ops.h>"
    ]


def test_aggregated_headers_hold_each_class_once() -> None:
    """Without per-operator headers the classes of methods are in one header, which the other one includes."""
    job = job_of(MIXED, Options(per_operator_headers=False))
    methods = slots_of(emitters, "MethodOperators.h", job)
    others = slots_of(emitters, "Operators.h", job)
    assert methods["MethodOperators_declarations"] == [declaration(job.catalog["apple"])]
    assert others["Operators_includes"] == ["#include <ATen/MethodOperators.h>"]
    assert others["Operators_declarations"] == [
        declaration(job.catalog["apple_"]),
        declaration(job.catalog["__and__"]),
    ]


def call_body(entries: str, name: str, *backends: str) -> str:
    """What the operator's `call` consists of under static dispatch."""
    keys = tuple({"CPU": CPU, "CUDA": CUDA}[backend] for backend in backends)
    job = job_of(entries, Options(static_dispatch=keys))
    text = definition(job.catalog[name], job)
    return text.split("::call(", 1)[1].split("{\n", 1)[1].split("\n}\n", 1)[0]


def test_static_dispatch_calls_the_backend() -> None:
    """With one backend the operator calls its kernel, in the form with symbolic integers if there is one."""
    assert call_body(SCALE, "scale.by", "CPU") == "    return at::cpu::scale_symint(self, mode, n);"


def test_static_dispatch_falls_back_to_composite_kernels() -> None:
    """An operator without a kernel for the backend is decomposed."""
    text = "- func: sum_up(Tensor self) -> Tensor\n"
    assert call_body(text, "sum_up", "CPU") == "    return at::compositeimplicitautograd::sum_up(self);"


def test_static_dispatch_without_any_kernel_fails_when_called() -> None:
    """An operator that no chosen backend has gives an error that names them, `Undefined` where none has a kernel."""
    other = "- func: other(Tensor self) -> Tensor\n  dispatch:\n    CUDA: other_cuda\n"
    body = call_body(SCALE + other, "scale.by", "CUDA")
    assert body == '    TORCH_CHECK(false, "Static dispatch does not support scale_symint forCUDA ");'
    body = call_body(SCALE, "scale.by", "CUDA")
    assert body == '    TORCH_CHECK(false, "Static dispatch does not support scale_symint forUndefined ");'


def test_static_dispatch_to_several_backends_switches() -> None:
    """With several backends the keys of tensors and options choose among those that have a kernel."""
    text = """
- func: make(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor
  dispatch:
    CPU: make_cpu
    CUDA: make_cuda
"""  # noqa: E501
    body = call_body(text, "make", "CPU", "CUDA")
    options = "c10::computeDispatchKey(dtype, layout, device)"
    assert f"DispatchKeySet({options}) | c10::detail::multi_dispatch_key_set(self);" in body
    assert "case DispatchKey::CPU:\n\t\t\treturn at::cpu::make(self, TensorOptions()" in body
    assert "case DispatchKey::CUDA:\n\t\t\treturn at::cuda::make(self, TensorOptions()" in body
    assert "default:\n            TORCH_CHECK(false" in body
