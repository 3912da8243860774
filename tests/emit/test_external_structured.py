"""Structured kernels of backends outside PyTorch: their classes, wrappers and registrations."""

from __future__ import annotations

from opwright.backends.hooks import Implementation
from opwright.backends.wrapper_options import EntryOptions, Guard, HeadOptions
from opwright.model.dispatch_key import Allocation
from tests.emit.external_backends import backend_files, slot

ENTRIES = """
- func: blend.Tensor(Tensor self, Tensor other) -> Tensor
  device_check: NoCheck
  structured_delegate: blend.out
- func: blend_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)
  device_check: NoCheck
  structured_delegate: blend.out
- func: blend.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)
  device_check: NoCheck
  structured: True
  structured_inherits: TensorIteratorBase
  dispatch:
    CPU, CUDA: blend_kernel
- func: total(Tensor self, int dim) -> (Tensor values, Tensor indices)
  structured_delegate: total.out
- func: total.out(Tensor self, int dim, *, Tensor(a!) values, Tensor(b!) indices) -> (Tensor(a!), Tensor(b!))
  structured: True
  precomputed:
  - dim -> int place, int width
  - bool is_empty
  dispatch:
    CPU: total_cpu
    CUDA: total_cuda
"""
STRUCTURED = EntryOptions(Implementation.structured)
WITH_META = EntryOptions(Implementation.structured, define_meta=True)
STUB = EntryOptions(Implementation.stub, callee="at::native::structured_blend_kernel")


def test_class_of_a_structured_kernel_is_nested() -> None:
    """The kernel is a class in the backend's, derives from PyTorch's shape function, and has `impl`."""
    header = backend_files(ENTRIES, {"blend.out": STRUCTURED}).header
    assert slot(header, "dispatch_declarations") == (
        "struct structured_blend_out : public at::meta::structured_blend_Tensor {\n"
        "void impl(const at::Tensor & self, const at::Tensor & other, const at::Tensor & out);\n"
        "};"
    )
    assert slot(header, "namespace_prologue").startswith("#include <ATen/ops/blend_meta.h>\n")
    assert "#define TORCH_PRIVATEUSE1_CLASS AcmeNativeFunctions" in slot(header, "namespace_prologue")


def test_header_without_structured_kernels_includes_nothing_more() -> None:
    """Only backends with structured kernels of their own include shape functions and macros."""
    for operators in ({"blend.out": EntryOptions()}, {"blend.out": STUB}):
        header = backend_files(ENTRIES, operators).header
        assert slot(header, "namespace_prologue") == "namespace acme {\nnamespace native {"


def test_own_shape_function_is_declared() -> None:
    """With `define_meta` the class has a `meta` of its own, and a name for the class whose `meta` it hides."""
    declared = slot(backend_files(ENTRIES, {"blend.out": WITH_META}).header, "dispatch_declarations")
    assert "using base = at::meta::structured_blend_Tensor;" in declared
    assert "void meta(const at::Tensor & self, const at::Tensor & other);" in declared


def test_own_shape_function_returns_precomputed_values() -> None:
    """The backend's `meta` of an operator with precomputed values returns them, and `impl` gets them."""
    declared = slot(backend_files(ENTRIES, {"total.out": WITH_META}).header, "dispatch_declarations")
    assert "meta_return_ty meta(const at::Tensor & self, int64_t dim);" in declared
    parameters = "const at::Tensor & self, int64_t place, int64_t width, bool is_empty"
    assert f"void impl({parameters}, const at::Tensor & values, const at::Tensor & indices);" in declared


def test_wrappers_of_all_forms() -> None:
    """The functional, in-place and out overloads have a class with the outputs and a wrapper each."""
    text = slot(backend_files(ENTRIES, {"blend.out": STRUCTURED}).source, "dispatch_anonymous_definitions")
    for kind, wrapper in (
        ("functional", "at::Tensor wrapper_Acme_blend_Tensor(const at::Tensor & self, const at::Tensor & other) {"),
        ("inplace", "at::Tensor & wrapper_Acme_blend__Tensor(at::Tensor & self, const at::Tensor & other) {"),
        (
            "out",
            "at::Tensor & wrapper_Acme_blend_out_out"
            "(const at::Tensor & self, const at::Tensor & other, at::Tensor & out) {",
        ),
    ):
        parent = "acme::native::AcmeNativeFunctions::structured_blend_out"
        assert f"struct structured_blend_out_{kind} final : public {parent} {{" in text
        assert wrapper in text
    assert text.count("c10::OptionalDeviceGuard guard_;") == 3
    assert text.count("// No device check") == 3


def test_kernels_write_to_proxies() -> None:
    """A kernel that needs other strides than `out` or `self` has writes to the proxy that is copied there."""
    text = slot(backend_files(ENTRIES, {"blend.out": STRUCTURED}).source, "dispatch_anonymous_definitions")
    for output in ("op(self)", "op(out)"):
        body = text.partition(f"{output};\n")[2]
        calls = ["op.meta(self, other);", "op.impl(self, other, op.maybe_get_output(0));"]
        assert body.split("\n")[:2] == calls


def test_registrations_name_the_dispatch_key() -> None:
    """Wrappers are registered for the dispatch key, whatever the display name of the backend is."""
    source = backend_files(ENTRIES, {"blend.out": STRUCTURED}).source
    registered = slot(source, "static_init_dispatch_registrations")
    assert registered.startswith("TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {")
    assert 'm.impl("blend_.Tensor", TORCH_FN(wrapper_Acme_blend__Tensor));' in registered


def test_outputs_are_allocated_by_the_dispatcher() -> None:
    """Without functions of the backend, outputs come from `at::empty` and `at::empty_strided`."""
    source = backend_files(ENTRIES, {"blend.out": STRUCTURED}).source
    helpers = slot(source, "dispatch_helpers")
    assert "return at::empty(sizes, options);" in helpers
    assert "return at::empty_strided(sizes, strides, options);" in helpers


def test_backend_chooses_guard_and_allocation() -> None:
    """Outputs come from the backend's functions, under a guard of its type."""
    options = HeadOptions(guard=Guard("acme::Guard"), allocation=Allocation("acme::blank{}", "acme/blank.h"))
    source = backend_files(ENTRIES, {"blend.out": STRUCTURED}, options=options).source
    assert "return acme::blank_strided(sizes, strides, options);" in slot(source, "dispatch_helpers")
    assert "#include <acme/blank.h>" in slot(source, "dispatch_headers")
    assert "acme::Guard guard_;" in slot(source, "dispatch_anonymous_definitions")


def test_backend_without_guard() -> None:
    """Without `device_guard`, classes of outputs have no guard."""
    source = backend_files(ENTRIES, {"blend.out": STRUCTURED}, device_guard=False).source
    assert "guard_" not in slot(source, "dispatch_anonymous_definitions")


def test_stub_runs_the_kernel_of_pytorch() -> None:
    """Classes derive from PyTorch's kernel, so that its `meta` and its `impl` run; the backend declares nothing."""
    files = backend_files(ENTRIES, {"blend.out": STUB})
    assert slot(files.header, "dispatch_declarations") == ""
    text = slot(files.source, "dispatch_anonymous_definitions")
    assert "struct structured_blend_kernel_out final : public at::native::structured_blend_kernel {" in text


def test_header_names_the_stubs_to_bind() -> None:
    """The header says which stubs PyTorch's kernels call and where they are declared, as far as it is known."""
    operators = {
        "blend.out": STUB,
        "total.out": EntryOptions(Implementation.stub, callee="at::native::structured_clamp_Tensor_out"),
    }
    note = slot(backend_files(ENTRIES, operators).header, "namespace_epilogue")
    assert "//   blend.out: see structured_blend_kernel::impl" in note
    clamp = "clamp_stub of ATen/native/TensorCompare.h; maximum_stub, minimum_stub of ATen/native/BinaryOps.h"
    assert f"//   total.out: {clamp}" in note


def test_listed_overload_has_its_own_kernel() -> None:
    """An in-place overload that the file lists too calls its kernel; the others run the structured kernel."""
    operators = {"blend.out": STRUCTURED, "blend_.Tensor": EntryOptions()}
    text = slot(backend_files(ENTRIES, operators).source, "dispatch_anonymous_definitions")
    assert "return acme::native::AcmeNativeFunctions::blend_(self, other);" in text
    assert "structured_blend_out_functional" in text
    assert "structured_blend_out_inplace" not in text


def test_shape_function_replaces_that_of_meta_tensors() -> None:
    """With `register_meta`, a wrapper under Meta runs the backend's shape function on meta tensors."""
    options = EntryOptions(Implementation.structured, define_meta=True, register_meta=True)
    source = backend_files(ENTRIES, {"total.out": options}).source
    text = slot(source, "dispatch_anonymous_definitions")
    assert "struct structured_total_out_define_meta final : public acme::native::" in text
    head = "::std::tuple<at::Tensor,at::Tensor> wrapper_Meta_define_total(const at::Tensor & self, int64_t dim) {"
    assert f"{head}\nstructured_total_out_define_meta op;\nauto precompute = op.meta(self, dim);" in text
    assert "return at::empty(sizes, options.device(at::kMeta));" in slot(source, "dispatch_helpers")
    assert (
        'TORCH_LIBRARY_IMPL(aten, Meta, m) {\n    m.impl("total", TORCH_FN(define_meta::wrapper_Meta_define_total));\n}'
    ) in slot(source, "static_init_dispatch_registrations")


def test_only_the_option_registers_for_meta() -> None:
    """A shape function of the backend serves its own device alone by default."""
    source = backend_files(ENTRIES, {"total.out": WITH_META}).source
    assert "define_meta" not in "".join(slot(source, name) for name in source)


def test_structured_kernel_in_a_namespace() -> None:
    """A structured kernel outside of classes is declared in its namespace, and exported if the file says how."""
    options = EntryOptions(Implementation.structured, callee="acme::bang::structured_bang_blend")
    files = backend_files(ENTRIES, {"blend.out": options}, options=HeadOptions(export_macro="ACME_API"))
    assert slot(files.header, "dispatch_declarations") == ""
    declared = "struct ACME_API structured_bang_blend : public at::meta::structured_blend_Tensor {"
    assert f"namespace acme {{\nnamespace bang {{\n\n{declared}\n" in slot(files.header, "namespace_epilogue")
    text = slot(files.source, "dispatch_anonymous_definitions")
    assert "structured_bang_blend_out final : public acme::bang::structured_bang_blend {" in text
