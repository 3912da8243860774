"""Wrappers of kernels and their registration."""

from __future__ import annotations

import pytest

from opwright.backends.file_backend import FileBackend
from opwright.emit.aten import dispatch_key_headers
from opwright.emit.aten.backend import Backend, WrapperKind, backends, units_of
from opwright.emit.aten.register import registration, structured_kernels, wrapper
from opwright.emit.aten.register.registration import definitions
from opwright.emit.emitter import Job, Options
from opwright.model.dispatch_key import CPU, CUDA, META, DispatchKey, key_named
from opwright.model.native_function import Kernel
from opwright.model.selection import Selection
from opwright.release.rules import Rules
from opwright.release.version import parse_version
from opwright.source.diagnostic import Fault
from tests.emit.emitting import RULES, job_of, slots_of

TURN = """
- func: turn(Tensor self, Tensor? axis=None, *, int by=1) -> Tensor
  autogen: turn.out
  dispatch:
    CPU, CUDA: turn_kernel
"""

POOL = """
- func: pool(Tensor self, int[2] size) -> Tensor
  structured_delegate: pool.out
- func: pool_(Tensor(a!) self, int[2] size) -> Tensor(a!)
  structured_delegate: pool.out
- func: pool.out(Tensor self, int[2] size, *, Tensor(a!) out) -> Tensor(a!)
  structured: True
  dispatch:
    CPU: pool_out_cpu
    CUDA: pool_out_cuda
- func: other(Tensor self) -> Tensor
  autogen: other.out
  dispatch:
    Meta: other_meta
- func: another(Tensor self) -> Tensor
  autogen: another.out
  dispatch:
    CompositeExplicitAutogradNonFunctional: another_kernel
"""


def backend_of(job: Job, key: DispatchKey) -> Backend:
    """The backend of a key."""
    return next(backend for backend in backends(job) if backend.key is key)


def text_of(job: Job, name: str, key: DispatchKey) -> str:
    """All that `Register{Key}.cpp` has of the unit that has an overload."""
    backend = backend_of(job, key)
    function = job.catalog[name]
    for unit, kinds in units_of(backend, job):
        if any(native_function is function for native_function, _ in kinds):
            return definitions((unit, kinds), backend, job)
    raise AssertionError(f"{name} has no wrapper for {key}")


def test_wrapper_calls_its_kernel_and_is_registered() -> None:
    """A kernel has a wrapper, its registration, and dispatch-key functions that call the wrapper."""
    assert (
        text_of(job_of(TURN), "turn", CPU)
        == """\
namespace at {
namespace {
namespace {
at::Tensor wrapper_CPU__turn(const at::Tensor & self, const ::std::optional<at::Tensor> & axis, int64_t by) {
    // No device check
  // DeviceGuard omitted
  return at::native::turn_kernel(self, axis, by);
}
} // anonymous namespace
TORCH_LIBRARY_IMPL(aten, CPU, m) {
    m.impl("turn",
TORCH_FN(wrapper_CPU__turn));
}
} // anonymous namespace
namespace cpu {
at::Tensor turn(const at::Tensor & self, const ::std::optional<at::Tensor> & axis, int64_t by) {
return wrapper_CPU__turn(self, axis, by);
}
} // namespace cpu
} // namespace at"""
    )


def test_device_check_and_guard() -> None:
    """Under CUDA all tensors are checked to be on one device, which is that of `self` where there is one."""
    text = text_of(job_of(TURN), "turn", CUDA)
    assert (
        """\
  std::optional<Device> common_device = std::nullopt;
(void)common_device; // Suppress unused variable warning
  c10::impl::check_and_update_common_device(common_device, self, "wrapper_CUDA__turn", "self");
  c10::impl::check_and_update_common_device(common_device, axis, "wrapper_CUDA__turn", "axis");
  const OptionalDeviceGuard device_guard(device_of(self));
"""
        in text
    )


@pytest.mark.parametrize(
    ("fields", "check", "guard"),
    [
        ("device_check: NoCheck", "    // No device check\n", "OptionalDeviceGuard"),
        ("device_guard: False", "common_device", "// DeviceGuard omitted"),
    ],
)
def test_entries_turn_check_and_guard_off(fields: str, check: str, guard: str) -> None:
    """`device_check` and `device_guard` each leave the other as it is."""
    text = text_of(job_of(f"{TURN}  {fields}\n"), "turn", CUDA)
    assert check in text
    assert guard in text


def test_factories_guard_the_device_of_their_options() -> None:
    """A function that makes tensors guards the device that is asked for, and wakes CUDA first."""
    options = "ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None"
    entry = f"- func: make(SymInt n, *, {options}) -> Tensor\n  dispatch:\n    CUDA, XPU: make_symint\n"
    job = job_of(entry)
    guard = "  const DeviceGuard device_guard(device_or_default(device));\n"
    wakes = "  globalContext().lazyInitDevice(c10::DeviceType::CUDA);\n"
    assert wakes + guard in text_of(job, "make", CUDA)
    on_xpu = text_of(job, "make", key_named("XPU"))
    assert guard in on_xpu
    assert wakes not in on_xpu


def test_symbolic_integers_meet_plain_kernels() -> None:
    """The wrapper takes symbolic integers; a kernel that does not gets them guarded."""
    entry = "- func: grow(Tensor self, SymInt[] by) -> Tensor\n  autogen: grow.out\n  dispatch:\n    CPU: {}\n"
    plain = text_of(job_of(entry.format("grow_kernel")), "grow", CPU)
    assert "wrapper_CPU__grow(const at::Tensor & self, c10::SymIntArrayRef by)" in plain
    assert "return at::native::grow_kernel(self, C10_AS_INTARRAYREF_SLOW(by));" in plain
    assert "return wrapper_CPU__grow(self, c10::fromIntArrayRefSlow(by));" in plain
    assert "return at::native::grow_symint(self, by);" in text_of(job_of(entry.format("grow_symint")), "grow", CPU)


def test_symbolic_kernel_needs_symbolic_integers() -> None:
    """A kernel that is named as symbolic for a schema without symbolic integers is a fault at its entry."""
    job = job_of("- func: turn(Tensor self) -> Tensor\n  autogen: turn.out\n  dispatch:\n    CPU: turn_symint\n")
    with pytest.raises(Fault, match="E0451") as caught:
        text_of(job, "turn", CPU)
    assert "takes symbolic integers, `turn` has none" in str(caught.value)


def test_inplace_function_without_meta_kernel_refuses() -> None:
    """In-place functions without a kernel may be called on meta tensors alone, unless a composite serves them."""
    entry = """
- func: turn_(Tensor(a!) self) -> Tensor(a!)
  autogen: turn, turn.out
  dispatch:
    CPU: turn_kernel
- func: flip_(Tensor(a!) self) -> Tensor(a!)
- func: other(Tensor self) -> Tensor
  autogen: other.out
  dispatch:
    Meta: other_meta
"""
    job = job_of(entry)
    text = text_of(job, "turn_", META)
    assert (
        """\
at::Tensor & wrapper_Meta__turn_(at::Tensor & self) {
  TORCH_CHECK_NOT_IMPLEMENTED(self.is_meta(),
    "Cannot inplace into non-meta tensor with meta tensor argument");
  return self;
}
"""
        in text
    )
    assert "flip" not in str(slots_of(registration.emitters, "RegisterMeta_0.cpp", job)["dispatch_definitions"])


def test_structured_functional_overload() -> None:
    """The class of the functional overload makes its outputs; the wrapper runs `meta` and `impl` and moves them out."""
    text = text_of(job_of(POOL), "pool", CPU)
    assert (
        """\
struct structured_pool_out_cpu_functional final : public at::native::structured_pool_out_cpu {
    void set_output_strided(
        int64_t output_idx, IntArrayRef sizes, IntArrayRef strides,
        TensorOptions options
    ) override {
        outputs_[output_idx] = create_out(sizes, strides, options);
        // super must happen after, so that downstream can use maybe_get_output
        // to retrieve the output
    }
"""
        in text
    )
    assert (
        """\
at::Tensor wrapper_CPU_pool(const at::Tensor & self, at::IntArrayRef size) {
structured_pool_out_cpu_functional op;
op.meta(self, size);
op.impl(self, size, op.outputs_[0]);
return std::move(op.outputs_[0]);
}
"""
        in text
    )
    assert (
        'm.impl("pool", TORCH_FN(wrapper_CPU_pool));\nm.impl("pool.out", TORCH_FN(wrapper_CPU_pool_out_out));' in text
    )


def test_structured_overloads_that_write() -> None:
    """Out and in-place overloads hold what they write to, and a proxy where its strides do not fit."""
    text = text_of(job_of(POOL), "pool", CUDA)
    assert "structured_pool_out_cuda_out(Tensor& out0) : outputs_{ std::ref(out0) } {}" in text
    assert "structured_pool_out_cuda_inplace(Tensor& self) : outputs_{std::ref(self)} {}" in text
    assert text.count("auto maybe_proxy = maybe_create_proxy(out, sizes, strides, options);") == 2
    assert text.count("guard_.reset_device(options.device());") == 6
    assert "    c10::cuda::OptionalCUDAGuard guard_;\n" in text
    assert "op.impl(self, size, op.maybe_get_output(0));" in text
    assert "if (op.proxy_outputs_[0].has_value()) op.outputs_[0].get().copy_(*op.proxy_outputs_[0]);" in text


def test_structured_kernels_with_symbolic_sizes() -> None:
    """A wrapper whose overload has a symbolic kernel of its own takes symbolic integers, and guards them for `meta`."""
    symbolic = POOL.replace("int[2] size", "SymInt[2] size").replace("CPU: pool_out_cpu", "CPU: pool_out_cpu_symint")
    text = text_of(job_of(symbolic), "pool.out", CPU)
    assert "at::Tensor & wrapper_CPU_pool_out_out(const at::Tensor & self, c10::SymIntArrayRef size, " in text
    assert "op.meta(self, C10_AS_INTARRAYREF_SLOW(size));\n" in text
    assert "at::Tensor wrapper_CPU_pool(const at::Tensor & self, at::IntArrayRef size) {" in text


def test_structured_wrappers_without_kernel() -> None:
    """Under Meta there is no `impl`; for keys without a kernel the out overload is called in its place."""
    job = job_of(POOL)
    meta = text_of(job, "pool", META)
    assert "struct structured_pool_meta_functional final : public at::meta::structured_pool {" in meta
    assert "op.impl" not in meta
    made = text_of(job, "pool", key_named("CompositeExplicitAutogradNonFunctional"))
    assert "struct structured_pool_default_backend_inplace final : public at::meta::structured_pool {" in made
    assert "at::pool_outf(self, size, op.outputs_[0]);" in made
    assert "pool_out(" not in made


def test_parents_that_keep_outputs_are_told() -> None:
    """Where `structured_inherits` is given, the parent's own `set_output_raw_strided` is called last."""
    inherits = POOL.replace("structured: True", "structured: True\n  structured_inherits: TensorIteratorBase")
    text = text_of(job_of(inherits), "pool", CPU)
    call = "at::native::structured_pool_out_cpu::set_output_raw_strided(output_idx, sizes, strides, options);"
    assert text.count(f"        // to retrieve the output\n        {call}\n    }}\n") == 6


def test_older_releases_propagate_names() -> None:
    """Before 2.13 outputs may have dimension names, which `set_output` takes and propagates."""
    job = job_of(POOL)
    older = Job(job.catalog, Rules(parse_version("2.12.0")), job.options)
    text = text_of(older, "pool", CPU)
    assert "TensorOptions options, DimnameList names\n" in text
    assert "namedinference::propagate_names(outputs_[output_idx], names);" in text
    assert "DimnameList" not in text_of(job, "pool", CPU)


def test_older_releases_name_the_hip_guard() -> None:
    """Before 2.11 ROCm builds name a guard that masquerades as CUDA's."""
    job = job_of(POOL, Options(rocm=True))
    older = Job(job.catalog, Rules(parse_version("2.10.0")), job.options)
    assert "c10::hip::OptionalHIPGuardMasqueradingAsCUDA guard_;" in text_of(older, "pool", CUDA)
    assert "c10::cuda::OptionalCUDAGuard guard_;" in text_of(job, "pool", CUDA)


def test_structured_operation_cannot_name_a_meta_kernel() -> None:
    """A Meta kernel beside a structured one is a fault, since it is made from the shape function."""
    job = job_of(POOL.replace("    CUDA: pool_out_cuda\n", "    Meta: pool_meta\n"))
    with pytest.raises(Fault, match="E0452"):
        units_of(backend_of(job, META), job)


def test_outputs_of_structured_kernels_are_tensors() -> None:
    """An out that is a list is a fault of a structured operation."""
    lists = """
- func: part(Tensor self) -> Tensor[]
  structured_delegate: part.out
- func: part.out(Tensor self, *, Tensor(a!)[] out) -> ()
  structured: True
  dispatch:
    CPU: part_out
"""
    with pytest.raises(Fault, match="E0453"):
        text_of(job_of(lists), "part", CPU)


def test_unselected_overloads_keep_direct_functions() -> None:
    """A selective build leaves out registrations, not the wrappers that dispatch-key functions call."""
    job = job_of(TURN, selection=Selection(everything=False))
    text = text_of(job, "turn", CPU)
    assert "TORCH_LIBRARY_IMPL(" not in text
    assert "return wrapper_CPU__turn(self, axis, by);" in text


def test_registration_can_be_left_out() -> None:
    """Builds that register operators elsewhere have wrappers alone."""
    job = job_of(TURN, Options(skip_dispatcher_registration=True))
    assert "TORCH_LIBRARY_IMPL(" not in text_of(job, "turn", CPU)


def test_library_kernels_are_registered_for_its_namespace() -> None:
    """An operator of a library is registered for its namespace, and stands in the namespace of its kernels."""
    entries = (
        "- func: shed::turn(Tensor self) -> Tensor\n  dispatch:\n    CPU: tools::turn_cpu\n"
        "- func: shed::turn.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)\n  dispatch:\n    CPU: tools::turn_out\n"
    )
    text = text_of(job_of(entries), "turn", CPU)
    assert text.startswith("namespace tools {\n")
    assert "return tools::native::turn_cpu(self);" in text
    assert "TORCH_LIBRARY_IMPL(shed, CPU, m) {" in text


def test_wanted_backends_only() -> None:
    """`backends` leaves out the files of other keys, save the composite ones."""
    job = job_of(TURN, Options(backends=frozenset((CPU,))))
    keys = {backend.key.name for backend in backends(job)}
    assert "CPU" in keys
    assert "CompositeImplicitAutograd" in keys
    assert "CUDA" not in keys


def test_frame_includes_what_the_file_uses() -> None:
    """Each file includes the headers of its own operators; keys without kernels have no function to make tensors."""
    job = job_of(TURN)
    slots = slots_of(registration.emitters, "RegisterCPU_0.cpp", job)
    assert slots["ops_headers"] == ["#include <ATen/ops/turn_cpu_dispatch.h>", "#include <ATen/ops/turn_native.h>"]
    assert "at::detail::empty_strided_cpu(sizes, strides, options)" in "".join(slots["dispatch_helpers"])
    empty = slots_of(registration.emitters, "RegisterZeroTensor_0.cpp", job)
    assert empty["dispatch_definitions"] == []
    assert "create_out" not in "".join(empty["dispatch_helpers"])
    whole = slots_of(registration.emitters, "RegisterCPU_0.cpp", job_of(TURN, Options(per_operator_headers=False)))
    assert whole["ops_headers"] == ["#include <ATen/NativeFunctions.h>", "#include <ATen/CPUFunctions.h>"]


XLA = key_named("XLA")

ADD = """
- func: plus(Tensor self, Tensor other) -> Tensor
  dispatch:
    CPU: plus
- func: plus_(Tensor(a!) self, Tensor other) -> Tensor(a!)
  dispatch:
    CPU: plus_
- func: plus.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)
  dispatch:
    CPU: plus_out
"""


def external(job: Job, *names: str) -> FileBackend:
    """A backend outside of PyTorch with kernels for some overloads."""
    kernels = {job.catalog[name]: Kernel(XLA, name, "shed", False) for name in names}
    return FileBackend(XLA, kernels, out_is_primary=False, external=True, class_name="Kernels")


def test_external_kernels_are_static_members() -> None:
    """Kernels outside of PyTorch have the dispatcher's convention and are members of the backend's class."""
    job = job_of(
        "- func: grow(Tensor self, SymInt by) -> Tensor\n  autogen: grow.out\n  dispatch:\n    CPU: grow_cpu\n"
    )
    backend = external(job, "grow")
    function = job.catalog["grow"]
    text = wrapper.definition(wrapper.plain_wrapper(function, WrapperKind.kernel, backend), backend)
    assert "at::Tensor wrapper_XLA__grow(const at::Tensor & self, c10::SymInt by) {" in text
    assert "return shed::Kernels::grow(self, by.guard_int(__FILE__, __LINE__));" in text


def test_functional_kernel_serves_the_overloads_that_write() -> None:
    """Where groups are implemented by their functional overload, the others copy its result."""
    job = job_of(ADD)
    backend = external(job, "plus")
    ((_, kinds),) = units_of(backend, job)
    assert [(function.name.text, kind) for function, kind in kinds] == [
        ("plus", WrapperKind.kernel),
        ("plus.out", WrapperKind.functional),
        ("plus_", WrapperKind.functional),
    ]
    inplace = wrapper.plain_wrapper(job.catalog["plus_"], WrapperKind.functional, backend)
    assert (
        wrapper.definition(inplace, backend)
        == """\
at::Tensor & wrapper_XLA__plus_(at::Tensor & self, const at::Tensor & other) {
  auto wrapper_XLA__plus__tmp = wrapper_XLA__plus(self, other);
  at::_copy_from(wrapper_XLA__plus__tmp, self);
  return self;
}"""
    )
    out = wrapper.plain_wrapper(job.catalog["plus.out"], WrapperKind.functional, backend)
    assert "at::_copy_from_and_resize(wrapper_XLA_out_plus_out_tmp, out);" in wrapper.definition(out, backend)


def test_functional_kernel_cannot_serve_lists_in_place() -> None:
    """In-place functions on lists return nothing that could be copied: they need a kernel of their own."""
    job = job_of(
        "- func: each(Tensor[] self) -> Tensor[]\n  device_check: NoCheck\n  dispatch:\n    CPU: each\n"
        "- func: each_(Tensor(a!)[] self) -> ()\n  device_check: NoCheck\n  autogen: each.out\n"
        "  dispatch:\n    CPU: each_\n"
    )
    with pytest.raises(Fault, match="E0456"):
        units_of(external(job, "each"), job)


def test_decisions_come_before_text() -> None:
    """What the class of a structured overload is like can be read off a record."""
    job = job_of(POOL)
    group = job.catalog.structured_groups[0]
    made = structured_kernels.output_class(group.out, group, backend_of(job, CUDA), job)
    assert (made.name, made.outputs, made.inherits, made.guard) == (
        "structured_pool_out_cuda_out",
        1,
        False,
        "c10::cuda::OptionalCUDAGuard",
    )
    assert made.names is RULES.set_output_takes_names


def test_declared_and_defined_functions_are_the_same() -> None:
    """Each dispatch-key function that a header declares is defined in the registration file, and no other is."""
    job = job_of(TURN + POOL)
    for key in (CPU, CUDA, META):
        declared = [
            line.partition(" ")[2].partition("=")[0].split("(")[0]
            for header in ("turn", "pool")
            if any(unit.root_name == header for unit, _ in units_of(backend_of(job, key), job))
            for text in slots_of(dispatch_key_headers.emitters, f"{header}_{key.lower}_dispatch.h", job)[
                "dispatch_namespaced_declarations"
            ]
            for line in text.splitlines()
        ]
        whole = "".join(slots_of(registration.emitters, f"Register{key}Everything.cpp", job)["dispatch_definitions"])
        assert declared
        assert all(f"\n{head}(" in whole for head in declared)
