"""What backends outside PyTorch register and declare: conditions, macros, fallbacks, autocast, classes, checks."""

from __future__ import annotations

import pytest

from opwright.backends.backend_codes import NO_DTYPE_OVERLOAD, OTHER_KERNEL, UNDECLARED_KERNEL, UNEXPORTED_KERNEL
from opwright.backends.emit import dispatch_functions
from opwright.backends.emit import registrations as register_sources
from opwright.backends.emit.checks import check_inherited_kernels
from opwright.backends.hooks import Hook, HookPosition, Implementation
from opwright.backends.wrapper_options import NO_HEAD_OPTIONS, EntryOptions, Fallback, Guard, HeadOptions
from opwright.source.diagnostic import Diagnostics, Fault
from tests.emit.emitting import slots_of
from tests.emit.external_backends import BackendFiles, backend_files, backend_job, slot

ENTRIES = """
- func: scale(Tensor self, SymInt by=1, *, bool flip=False) -> Tensor
- func: fill(SymInt[] size, *, ScalarType? dtype=long, Layout? layout=None, Device? device=None,
    bool? pin_memory=None) -> Tensor
  dispatch:
    CPU: fill
- func: size(Tensor self, Scalar p=2) -> Tensor
- func: size.dtype(Tensor self, Scalar? p, *, ScalarType dtype) -> Tensor
- func: blend(Tensor self, Tensor other) -> Tensor
  structured_delegate: blend.out
- func: blend.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)
  structured: True
  dispatch:
    CPU: blend_out
"""
PLAIN = EntryOptions()
FALLBACK = EntryOptions(Implementation.fallback)


def files(
    head: HeadOptions = NO_HEAD_OPTIONS, source: str = "Acme", **sections: dict[str, EntryOptions]
) -> BackendFiles:
    """The files of a backend with some sections."""
    operators = sections.pop("supported", {"scale": PLAIN})
    return backend_files(ENTRIES, operators, options=head, source=source, **sections)


def registrations(
    head: HeadOptions = NO_HEAD_OPTIONS, source: str = "Acme", **sections: dict[str, EntryOptions]
) -> str:
    """The registrations in the source of a key."""
    return slot(files(head, source, **sections).source, "static_init_dispatch_registrations")


def test_registration_under_a_condition() -> None:
    """A condition of C++ surrounds the registrations of an entry, those of derived overloads too."""
    text = registrations(supported={"scale": EntryOptions(register_if="acme::is_new()"), "fill": PLAIN})
    assert '    if (acme::is_new()) {\n      m.impl("scale",\n      TORCH_FN(wrapper_Acme__scale));\n    }\n' in text
    structured = EntryOptions(Implementation.structured, register_if="acme::is_new()")
    assert registrations(supported={"blend.out": structured}).count("if (acme::is_new()) {") == 2


def test_registration_by_a_macro() -> None:
    """The macro gets the library, the name of the operator and the wrapper."""
    text = registrations(HeadOptions(register_macro="ACME_IMPL"))
    assert text == ('TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {\n    ACME_IMPL(m, "scale", wrapper_Acme__scale);\n}')


def test_fallback_of_operators() -> None:
    """Operators that fall back are registered as boxed functions, which refuse views unless the file wants copies."""
    backend = files(supported={"scale": PLAIN, "fill": FALLBACK})
    text = slot(backend.source, "static_init_dispatch_registrations")
    assert '    m.impl("fill",\n    torch::CppFunction::makeFromBoxedFunction<&run_on_cpu>());\n' in text
    assert "m.fallback" not in text
    helpers = slot(backend.source, "dispatch_helpers")
    assert "at::native::cpu_fallback(called, stack, /*error_on_views=*/true);" in helpers
    assert "#include <ATen/native/CPUFallback.h>" in slot(backend.source, "external_backend_headers")
    copying = files(HeadOptions(fallback_copies_views=True), supported={"fill": FALLBACK})
    assert "/*error_on_views=*/false" in slot(copying.source, "dispatch_helpers")


def test_fallback_of_sparse_tensors() -> None:
    """The copies of sparse tensors are sparse tensors of the CPU."""
    helpers = slot(files(source="SparseAcme", sparse={"scale": FALLBACK}).source, "dispatch_helpers")
    assert "cpu_fallback(called, stack, /*error_on_views=*/true, c10::DispatchKey::SparseCPU);" in helpers


def test_fallback_of_all_operators() -> None:
    """The file registers a fallback for the backend's key, also if it has no kernel at all."""
    head = HeadOptions(fallback=Fallback.cpu)
    fallback = (
        "TORCH_LIBRARY_IMPL(_, PrivateUse1, m) {\n"
        "    m.fallback(torch::CppFunction::makeFromBoxedFunction<&run_on_cpu>());\n}"
    )
    assert registrations(head).endswith(fallback)
    assert registrations(head, supported={}).endswith(fallback)
    assert "run_on_cpu" not in registrations(head, "SparseAcme", sparse={"scale": PLAIN})
    also = head._replace(fallback_sections=frozenset(["sparse"]))
    sparse = registrations(also, "SparseAcme", sparse={"scale": PLAIN})
    assert sparse.endswith(fallback.replace("PrivateUse1", "SparsePrivateUse1"))
    assert "run_on_cpu" not in registrations(head, "AutocastAcme", autocast={"scale": PLAIN})


def test_fallback_of_operators_that_the_cpu_lacks() -> None:
    """A fallback of all operators serves those that PyTorch calls on other devices only, under what the CPU has."""
    backend = files(HeadOptions(fallback=Fallback.cpu))
    text = slot(backend.source, "static_init_dispatch_registrations")
    assert 'm.impl("convolution_overrideable",\n    torch::CppFunction::makeFromBoxedFunction<&run_on_cpu>());' in text
    assert 'm.impl("_thnn_fused_gru_cell",\n    TORCH_FN(::opwright::fused_gru_cell));' in text
    helpers = slot(backend.source, "dispatch_helpers")
    assert "const auto called = ::opwright::cpu_operator(op, stack);" in helpers
    assert "at::native::cpu_fallback(called, stack, " in helpers
    assert "#include <opwright/stand_ins.h>" in slot(backend.source, "external_backend_headers")
    assert "#include <opwright/fallback.h>" in slot(backend.source, "external_backend_headers")
    assert "_overrideable" not in registrations(HeadOptions())


def test_fallback_that_warns() -> None:
    """The fallback warns with the name of the file, and gives kernels of the CPU generators of the CPU."""
    head = HeadOptions(fallback=Fallback.cpu, fallback_warns=True, fallback_generator="acme::generator")
    helpers = slot(files(head).source, "dispatch_helpers")
    assert "::opwright::warn_of_fallback(op, " in helpers
    assert "::opwright::with_generators(op, stack, &::acme::generator, [&] {" in helpers


def test_fallback_that_checks_devices() -> None:
    """The fallback knows the operators that check devices themselves, unless the head turns checks off."""
    entries = ENTRIES.replace(
        "- func: blend.out",
        "- func: mix(Tensor self, Tensor other) -> Tensor\n"
        "  device_check: NoCheck\n  dispatch:\n    CPU: mix\n- func: blend.out",
    )
    backend = backend_files(entries, {"scale": PLAIN}, options=HeadOptions(fallback=Fallback.cpu))
    helpers = slot(backend.source, "dispatch_helpers")
    names = helpers.partition("taking_numbers{")[2].partition("}")[0]
    assert '"mix"' in names
    assert "blend" not in names
    assert "::opwright::check_devices(op, stack, taking_numbers);" in helpers
    unchecked = files(HeadOptions(fallback=Fallback.cpu, device_check=False))
    assert "check_devices" not in slot(unchecked.source, "dispatch_helpers")


def test_refused_operators() -> None:
    """Operators that the file refuses have a kernel that raises, and no wrapper."""
    backend = files(supported={"scale": EntryOptions(Implementation.refused)})
    text = slot(backend.source, "static_init_dispatch_registrations")
    assert 'm.impl("scale",\n    torch::CppFunction::makeFromBoxedFunction<&::opwright::refuse>());' in text
    assert "wrapper" not in text
    assert "#include <opwright/fallback.h>" in slot(backend.source, "external_backend_headers")


def test_operators_pass_through_autocast() -> None:
    """A backend in the dialect of Opwright lets operators pass through its Autocast key, unless its author does."""
    head = HeadOptions(derives_from_out=True, includes=("acme.h",))
    fallthrough = (
        "TORCH_LIBRARY_IMPL(_, AutocastPrivateUse1, m) {\n    m.fallback(torch::CppFunction::makeFallthrough());"
    )
    assert fallthrough in registrations(head)
    assert "Autocast" not in registrations(head._replace(autocast_fallthrough=False))
    assert "Autocast" not in registrations(head, autocast={"scale": EntryOptions(policy="fp32")})
    assert "Autocast" not in registrations(HeadOptions())


def test_policies_of_autocast() -> None:
    """Policies call the operator, or the overload with a dtype; operators without one pass."""
    text = registrations(
        source="AutocastAcme",
        autocast={
            "scale": EntryOptions(policy="fp32"),
            "size": EntryOptions(policy="fp32_append_dtype"),
            "blend": PLAIN,
        },
    )
    kernel = "&::opwright::autocast::Kernel<::opwright::autocast::Policy::{}, c10::DeviceType::PrivateUse1"
    assert f'm.impl("scale",\n    {kernel.format("fp32")}' in text
    assert "&::at::_ops::scale::call" in text
    assert f'm.impl("size",\n    {kernel.format("fp32_append_dtype")}' in text
    assert "&::at::_ops::size_dtype::call" in text
    assert 'm.impl("blend",\n    TORCH_FN(wrapper_AutocastAcme__blend));' in text
    assert text.endswith(
        "TORCH_LIBRARY_IMPL(_, AutocastPrivateUse1, m) {\n    m.fallback(torch::CppFunction::makeFallthrough());\n}"
    )


def test_policy_without_the_overload_that_it_calls() -> None:
    """An operator without an overload with a dtype cannot have the policy that calls it."""
    with pytest.raises(Fault) as raised:
        registrations(source="AutocastAcme", autocast={"scale": EntryOptions(policy="fp32_append_dtype")})
    assert raised.value.diagnostic.code == NO_DTYPE_OVERLOAD


def test_includes_of_sources() -> None:
    """Sources include the author's headers, that of the guard, and the one for results that hooks get."""
    hook = Hook(HookPosition.after, call="acme::leave", passes=("result",))
    head = HeadOptions(includes=("acme/kernels.h",), guard=Guard("acme::Guard", "acme/guard.h"), hooks=(hook,))
    assert slot(files(head).source, "external_backend_headers") == (
        '#include "AcmeNativeFunctions.h"\n'
        "#include <acme/kernels.h>\n"
        "#include <acme/guard.h>\n"
        "#include <opwright/hooks.h>"
    )


def test_default_arguments() -> None:
    """Declarations have the defaults of the schema, those of tensor options are empty, and out overloads have none."""
    declared = slot(
        files(HeadOptions(default_args=True), supported={"scale": PLAIN, "fill": PLAIN, "blend.out": PLAIN}).header,
        "dispatch_declarations",
    )
    assert "static at::Tensor scale(const at::Tensor & self, int64_t by=1, bool flip=false);" in declared
    assert "::std::optional<at::ScalarType> dtype={}, ::std::optional<at::Layout> layout={}" in declared
    assert "const at::Tensor & other, at::Tensor & out);" in declared
    assert "by=1" not in slot(files().header, "dispatch_declarations")


def test_export_macro() -> None:
    """The macro stands before the name of the class, and the author's headers, which define it, are included."""
    header = files(HeadOptions(export_macro="ACME_API", includes=("acme/macros.h",))).header
    assert slot(header, "class_name") == "ACME_API AcmeNativeFunctions"
    assert slot(header, "generated_comment").endswith("\n#include <acme/macros.h>")


def test_classes_of_kernel_families() -> None:
    """Kernels of another class are declared in it, after the backend's own."""
    header = files(supported={"scale": PLAIN, "fill": EntryOptions(class_name="AcmeSlow")}).header
    assert "fill" not in slot(header, "dispatch_declarations")
    epilogue = slot(header, "namespace_epilogue")
    assert "\nstruct AcmeSlow {\n\nstatic at::Tensor fill(" in epilogue
    assert epilogue.startswith("} // namespace native\n} // namespace acme\n\nnamespace acme {\nnamespace native {\n")


def test_kernels_in_namespaces() -> None:
    """Without headers of the author's, kernels in namespaces are declared beside the class."""
    fast = {"scale": EntryOptions(callee="acme::fast::scale_fast")}
    backend = files(HeadOptions(export_macro="ACME_API"), supported=fast)
    assert "scale" not in slot(backend.header, "dispatch_declarations")
    assert (
        "namespace acme {\nnamespace fast {\n\n"
        "ACME_API at::Tensor scale_fast(const at::Tensor & self, int64_t by, bool flip);\n\n}"
    ) in slot(backend.header, "namespace_epilogue")
    assert "OPWRIGHT_KERNEL" not in slot(backend.source, "ops_headers")


def test_kernels_in_namespaces_are_checked() -> None:
    """Kernels that the author's headers declare are compared with their operators, and called by their objects."""
    fast = {"scale": EntryOptions(callee="acme::fast::scale_fast")}
    backend = files(HeadOptions(includes=("acme/kernels.h",)), supported=fast)
    assert "scale" not in slot(backend.header, "namespace_epilogue")
    assert (
        "OPWRIGHT_KERNEL(scale_fast, ::acme::fast::scale_fast, at::_ops::scale, "
        "at::Tensor (const at::Tensor &, int64_t, bool));"
    ) in slot(backend.source, "ops_headers")
    wrapper = slot(backend.source, "dispatch_anonymous_definitions")
    assert "return acme::native::checked_privateuse1::kernels::scale_fast(self, " in wrapper


def test_one_kernel_for_two_keys() -> None:
    """A kernel that serves dense and sparse tensors is declared once."""
    declared = slot(files(sparse={"scale": PLAIN}).header, "dispatch_declarations")
    assert declared.count("scale(") == 1


def test_functions_without_the_dispatcher() -> None:
    """Headers declare functions that call the wrappers, which the source of the backend's key defines."""
    head = HeadOptions(dispatch_headers=True, export_macro="ACME_API", includes=("acme/macros.h",))
    job = backend_job(ENTRIES, {"scale": PLAIN}, options=head, sparse={"scale": PLAIN})
    header = slots_of(dispatch_functions.emitters, "ops/scale_acme_dispatch.h", job)
    assert slot(header, "dispatch_namespace") == "acme"
    assert slot(header, "dispatch_namespaced_declarations").splitlines() == [
        "ACME_API at::Tensor scale(const at::Tensor & self, int64_t by=1, bool flip=false);",
        "ACME_API at::Tensor scale_symint(const at::Tensor & self, c10::SymInt by=1, bool flip=false);",
    ]
    assert slot(header, "generated_comment").endswith("\n#include <acme/macros.h>")
    every = slots_of(dispatch_functions.emitters, "AcmeFunctions_inl.h", job)
    assert slot(every, "DispatchKeyFunctions_inl_includes") == '#include "ops/scale_acme_dispatch.h"'
    source = slots_of(register_sources.emitters, "RegisterAcme.cpp", job)
    functions = slot(source, "dispatch_namespaced_definitions")
    assert (
        "at::Tensor scale(const at::Tensor & self, int64_t by, bool flip) {\nreturn wrapper_Acme__scale(" in functions
    )
    assert (
        slot(slots_of(register_sources.emitters, "RegisterSparseAcme.cpp", job), "dispatch_namespaced_definitions")
        == ""
    )


@pytest.mark.parametrize(
    ("callee", "code"),
    [
        ("at::native::fill", None),
        ("at::native::grow_cuda", UNEXPORTED_KERNEL),
        ("at::native::fil", UNDECLARED_KERNEL),
        ("at::native::wave", OTHER_KERNEL),
    ],
)
def test_kernels_of_pytorch_that_cannot_be_called(callee: str, code: str | None) -> None:
    """A kernel has to be declared, to be in the main library, and to have the types of the operator."""
    entries = f"{ENTRIES}\n- func: wave(Tensor self) -> Tensor\n  dispatch:\n    CPU: wave\n    CUDA: grow_cuda\n"
    inherited = EntryOptions(Implementation.inherited, callee)
    sink = Diagnostics()
    check_inherited_kernels(backend_job(entries, {"fill": inherited}), sink)
    assert [diagnostic.code for diagnostic in sink.sorted()] == ([code] if code else [])
