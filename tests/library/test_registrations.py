"""The text of registrations, also of keys for which the tests cannot compile code."""

from __future__ import annotations

from tests.library.conftest import GenerateLibrary

ON_CUDA = """
namespace: acme
operators:
  - func: scale(Tensor self, float factor) -> Tensor
    dispatch: {CUDA: scale_cuda}
  - func: free(Tensor self) -> Tensor
    device_check: NoCheck
    device_guard: False
    dispatch: {CUDA: free_cuda}
  - func: ramp(int length, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor
    dispatch: {CUDA: ramp_cuda}
  - func: outer(Tensor self, Tensor other) -> Tensor
    structured_delegate: outer.out
  - func: outer.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)
    structured: True
    dispatch: {CUDA: outer_out}
"""  # noqa: E501

OTHER_KEYS = """
namespace: acme
operators:
  - func: scale(Tensor self, float factor) -> Tensor
    dispatch:
      CPU: scale_cpu
      AutogradPrivateUse1: scale_autograd
      AutocastMPS: scale_autocast
      FuncTorchBatched: scale_batched
      SparseCPU, QuantizedPrivateUse1: scale_sparse
"""


def test_a_library_with_kernels_for_cuda_alone(generate_library: GenerateLibrary) -> None:
    """Wrappers of CUDA kernels check launches, and check and set the device unless the entry says otherwise."""
    source = (generate_library(ON_CUDA) / "src" / "acme" / "register_0.cpp").read_text()
    assert "#include <c10/cuda/CUDAGuard.h>" in source
    assert "#include <ATen/cuda/EmptyTensor.h>" in source
    for line in (
        '  c10::impl::check_and_update_common_device(common_device, self, "wrapper_CUDA__scale", "self");',
        "  const OptionalDeviceGuard device_guard(device_of(self));",
        "  globalContext().lazyInitDevice(c10::DeviceType::CUDA);",
        "    c10::cuda::OptionalCUDAGuard guard_;",
        '  m.impl("scale", &wrapper_CUDA__scale);',
        'at::Tensor wrapper_CUDA__free(const at::Tensor & self) {\n  OPWRIGHT_LAUNCHES("acme::free");',
        '  m.impl("outer.out", &wrapper_CUDA_outer_out_out);',
        "TORCH_LIBRARY_IMPL(acme, Meta, m) {",
    ):
        assert f"\n{line}\n" in source, line


def test_factories_choose_their_backend(generate_library: GenerateLibrary) -> None:
    """A factory with a kernel for a device finds it by the tensor options, for it has no tensor."""
    source = (generate_library(ON_CUDA) / "src" / "acme" / "register_0.cpp").read_text()
    assert "DispatchKeySet _dk = c10::DispatchKeySet(c10::computeDispatchKey(dtype, layout, device));" in source
    assert 'TORCH_LIBRARY_IMPL(acme, BackendSelect, m) {\n  m.impl("ramp", &ramp);\n}' in source


def test_keys_that_only_libraries_name(generate_library: GenerateLibrary) -> None:
    """Kernels of all keys are registered; only those of a device that is not known better have a wrapper for it."""
    source = (generate_library(OTHER_KEYS) / "src" / "acme" / "register_0.cpp").read_text()
    for key, kernel in (
        ("CPU", "scale_cpu"),
        ("AutogradPrivateUse1", "scale_autograd"),
        ("AutocastMPS", "scale_autocast"),
        ("FuncTorchBatched", "scale_batched"),
        ("SparseCPU", "scale_sparse"),
    ):
        pointer = f"static_cast<acme::_ops::scale::ptr_schema>(&acme::native::{kernel})"
        assert f'TORCH_LIBRARY_IMPL(acme, {key}, m) {{\n  m.impl("scale", {pointer});\n}}' in source, key
    assert 'm.impl("scale", &wrapper_QuantizedPrivateUse1__scale);' in source


def test_keys_without_kernels_have_no_wrappers(generate_library: GenerateLibrary) -> None:
    """Backends that have nothing but out overloads get no wrappers, for a library names the keys of its kernels."""
    source = (generate_library(ON_CUDA) / "src" / "acme" / "register_0.cpp").read_text()
    assert "CompositeExplicitAutogradNonFunctional" not in source


STRUCTURED = """\
namespace: acme
operators:
- func: blend_(Tensor(a!) self, Tensor other) -> Tensor(a!)
  structured_delegate: blend.out
- func: blend(Tensor self, Tensor other) -> Tensor
  structured_delegate: blend.out
- func: blend.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)
  structured: True
  outputs: like(self)
  dispatch:
    CPU: blend_out
"""


def test_structured_kernels_write_to_proxies(generate_library: GenerateLibrary) -> None:
    """A kernel that needs other strides than `out` or `self` has writes to the proxy that is copied there."""
    source = (generate_library(STRUCTURED) / "src" / "acme" / "register_0.cpp").read_text()
    for output in ("op(self)", "op(out)"):
        assert source.partition(f"{output};\n")[2].split("\n")[1].strip() == (
            "op.impl(self, other, op.maybe_get_output(0));"
        )


def test_an_alias_analysis_is_registered(generate_library: GenerateLibrary) -> None:
    """TorchScript is told what an entry says of it, and reads other schemas as they are."""
    text = """
namespace: acme
operators:
  - func: put(Tensor src, Tensor? out) -> Tensor
    alias_analysis: conservative
    tags: core
  - func: negate(Tensor src) -> Tensor
    alias_analysis: pure_function
  - func: plain(Tensor src) -> Tensor
"""
    source = (generate_library(text) / "src" / "acme" / "register_0.cpp").read_text()
    for line in (
        'm.def(torch::schema("put(Tensor src, Tensor? out) -> Tensor", c10::AliasAnalysisKind::CONSERVATIVE), tags_0);',
        'm.def(torch::schema("negate(Tensor src) -> Tensor", c10::AliasAnalysisKind::PURE_FUNCTION), {});',
        'm.def("plain(Tensor src) -> Tensor", {});',
    ):
        assert line in source
