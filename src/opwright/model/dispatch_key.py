"""Dispatch keys: one table, whose rows have all that the program knows about a key.

The names are those of `c10/core/DispatchKey.h` as PyTorch's generator sees them. Nothing else in the program lists
keys by name: whoever needs a fact about a key asks its row. A new key is a new row in `_ROWS`.

>>> CUDA.device_guard, key_named("SparseCPU").backend, key_named("SparseXPU").export_macro, key_named("MPS").flag
(True, 'CPU', 'TORCH_XPU_API', 'mps')
"""

from __future__ import annotations

from opwright.source.records import frozen_fields

# Programs read the flags of devices when they start, before they know whether there is anything to do.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from dataclasses import KW_ONLY
    from typing import Final


@frozen_fields
class Device:
    """What all dispatch keys of one device share.

    `flag` is the command-line flag (`mps` for `--mps`) without which a run leaves out the device's keys; empty for
    devices that every run has. `has_guard` tells that kernels run under a device guard, for which their registrations
    include `guard_headers`. `is_initialized_lazily` tells that functions that make tensors initialize the device.
    `export_macro` exports the symbols of the device's library; it is empty for devices whose kernels stand in the
    main library. `is_known` is false for devices of which only names are known, and `is_generated` for those whose keys
    PyTorch's generator does not know.

    `autocast_rank` is the place of the device's Autocast key among such keys, 0 without one. PyTorch registers kernels
    for all operators under its Autograd key and its Autocast key, if it `has_autograd_fallback` and
    `has_autocast_fallback`. Tensors of a device that `is_functionalized` are so outside tracing too, so that views and
    writes never reach it.
    """

    name: str
    flag: str = ""
    has_guard: bool = False
    guard_headers: tuple[str, ...] = ()
    is_initialized_lazily: bool = False
    export_macro: str = ""
    is_known: bool = True
    is_generated: bool = True
    autocast_rank: int = 0
    has_autograd_fallback: bool = True
    has_autocast_fallback: bool = True
    is_functionalized: bool = False

    def __repr__(self) -> str:
        return f"<device {self.name}>"


@frozen_fields
class Allocation:
    """How wrappers of structured kernels allocate outputs.

    `function` is a C++ function, with `{}` where `_strided` may stand; `strided_function` is the one that takes strides
    if its name is another one. `header` declares them; without one they are functions that the dispatcher knows.
    `options` is the expression of the tensor options that they are given.
    """

    function: str
    header: str = ""
    _: KW_ONLY
    options: str = "options"
    strided_function: str = ""

    @property
    def strided(self) -> str:
        """The function that takes strides."""
        return self.strided_function or self.function.format("_strided")

    def __repr__(self) -> str:
        return f"<allocation by {self.function} of {self.header or 'the dispatcher'} with {self.options}>"


@frozen_fields
class DispatchKey:
    """One dispatch key. There is one object per name, so keys are compared by identity.

    `device` is None for keys of no device. `is_dispatchable` tells that the `dispatch` field of an entry may name the
    key; `is_composite` marks the alias keys of kernels that are made of other operators. `rule`, `flag_rule` and
    `class_export_rule` name behaviours of `release.rules`: releases without the first lack the key; in releases with
    the second, runs without the device's flag leave out the key (without a rule, in all releases); in releases with the
    third, the device's macro exports the classes of structured kernels (without a rule, as it exports functions).
    `shards_rule` names the number of shards.

    `has_structured`: structured kernels may be written for the key. Their wrappers get outputs by `allocation`, and
    hold a guard of the type `structured_guard`, which outputs move to their device if `moves_guard`. The key's own
    wrappers of every structured operation, which need no kernel, have `generated_suffix` in the names of their classes.
    `has_functions_header`: the key's functions may be called without the dispatcher, through `{Key}Functions.h`.
    `has_c_shim`: AOTInductor calls the key's functions from C. `has_native_aot`: structured kernels of the key may have
    a counterpart that is compiled ahead of time.
    """

    name: str
    device: Device | None = None
    _: KW_ONLY
    is_dispatchable: bool = True
    is_composite: bool = False
    rule: str = ""
    flag_rule: str = ""
    class_export_rule: str = ""
    shards_rule: str = "register_shards"
    has_structured: bool = False
    allocation: Allocation | None = None
    structured_guard: str = ""
    moves_guard: bool = True
    generated_suffix: str = ""
    has_functions_header: bool = False
    has_c_shim: bool = False
    has_native_aot: bool = False

    @property
    def lower(self) -> str:
        """The name as namespaces and files have it."""
        return self.name.lower()

    @property
    def backend(self) -> str:
        """Name of the key's device; empty for keys of no device."""
        return "" if self.device is None else self.device.name

    @property
    def flag(self) -> str:
        """Command-line flag, without dashes, that adds the key to a run; empty where none does."""
        return "" if self.device is None or not self.is_dispatchable else self.device.flag

    @property
    def is_dense(self) -> bool:
        """Whether the key is the one of dense tensors on a device, for which libraries may have structured kernels."""
        return self.device is not None and self.name == self.device.name and not self.generated_suffix

    @property
    def device_guard(self) -> bool:
        """Whether kernels under the key run under a device guard unless their entry says otherwise."""
        return self.device is not None and self.device.has_guard

    @property
    def guard_headers(self) -> tuple[str, ...]:
        """Headers that registrations include for device guards."""
        return () if self.device is None else self.device.guard_headers

    @property
    def export_macro(self) -> str:
        """Macro that exports symbols of the device's library; empty where they stand in the main library."""
        return "" if self.device is None else self.device.export_macro

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return f"<dispatch key {self.name}>"

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return key_named, (self.name,)


_CPU: Final = Device("CPU", autocast_rank=1)
_CUDA: Final = Device(
    "CUDA",
    has_guard=True,
    guard_headers=(
        "c10/cuda/CUDAGuard.h",
        "ATen/cuda/ATenCUDAGeneral.h",
        "ATen/cuda/CUDADevice.h",
        "ATen/cuda/CUDAContext.h",
    ),
    is_initialized_lazily=True,
    export_macro="TORCH_CUDA_CPP_API",
    autocast_rank=9,
)
_MPS: Final = Device("MPS", flag="mps", autocast_rank=8)
_XPU: Final = Device("XPU", flag="xpu", has_guard=True, export_macro="TORCH_XPU_API", autocast_rank=4)
_MTIA: Final = Device("MTIA", flag="mtia", autocast_rank=2)
_META: Final = Device("Meta")
_HPU: Final = Device("HPU", autocast_rank=6, has_autocast_fallback=False)

#: The devices that the dispatcher has, in its order. The keys of those without a row below exist, and no entry may name
#: them.
_KNOWN_DEVICES: Final = (
    _CPU,
    _CUDA,
    Device("HIP", is_known=False, has_autograd_fallback=False),
    Device("XLA", is_known=False, autocast_rank=7, has_autocast_fallback=False, is_functionalized=True),
    _MPS,
    Device("IPU", is_known=False, autocast_rank=5, has_autograd_fallback=False, has_autocast_fallback=False),
    _XPU,
    _HPU,
    Device("VE", is_known=False, has_autograd_fallback=False),
    Device("Lazy", is_known=False, is_functionalized=True),
    _MTIA,
    Device("MAIA", is_known=False, is_generated=False, autocast_rank=3),
    Device("PrivateUse1", is_known=False, autocast_rank=10, has_autocast_fallback=False),
    Device("PrivateUse2", is_known=False, has_autograd_fallback=False),
    Device("PrivateUse3", is_known=False, has_autograd_fallback=False),
    _META,
)

#: The guard for a device of which nothing else is known.
ANY_DEVICE_GUARD: Final = "c10::OptionalDeviceGuard"
#: Allocation of any device's tensors, through the dispatcher.
ANY_DEVICE_ALLOCATION: Final = Allocation("at::empty{}")
_SPARSE_MPS: Final = "mps_has_sparse_keys"
_NESTED_HPU: Final = "hpu_has_nested_key"
_SPARSE_XPU: Final = "xpu_has_sparse_and_nested_keys"
_XPU_SUBKEYS: Final = "xpu_subkeys_need_xpu"

#: The keys that `dispatch` of native_functions.yaml may name, in the order in which their files are made.
_ROWS: Final = (
    DispatchKey(
        "CPU",
        _CPU,
        has_structured=True,
        allocation=Allocation("at::detail::empty{}_cpu", "ATen/EmptyTensor.h"),
        shards_rule="register_cpu_shards",
        has_functions_header=True,
        has_c_shim=True,
    ),
    DispatchKey("SparseCPU", _CPU),
    DispatchKey("SparseCsrCPU", _CPU),
    DispatchKey("MkldnnCPU", _CPU),
    DispatchKey(
        "CUDA",
        _CUDA,
        has_structured=True,
        allocation=Allocation("at::detail::empty{}_cuda", "ATen/cuda/EmptyTensor.h"),
        structured_guard="c10::cuda::OptionalCUDAGuard",
        has_functions_header=True,
        has_c_shim=True,
        has_native_aot=True,
    ),
    DispatchKey(
        "MPS",
        _MPS,
        has_structured=True,
        allocation=Allocation("at::detail::empty{}_mps", "ATen/mps/EmptyTensor.h"),
        structured_guard=ANY_DEVICE_GUARD,
        has_functions_header=True,
        has_c_shim=True,
    ),
    DispatchKey(
        "XPU",
        _XPU,
        rule="xpu_has_kernels",
        has_structured=True,
        allocation=Allocation("at::detail::empty{}_xpu", "ATen/xpu/EmptyTensor.h"),
        structured_guard=ANY_DEVICE_GUARD,
        class_export_rule="structured_classes_exported_for_xpu",
        has_functions_header=True,
        has_c_shim=True,
    ),
    DispatchKey("SparseXPU", _XPU, rule=_SPARSE_XPU, flag_rule=_XPU_SUBKEYS),
    DispatchKey("SparseCsrXPU", _XPU, rule="xpu_has_csr_key", flag_rule=_XPU_SUBKEYS),
    DispatchKey("SparseCUDA", _CUDA),
    DispatchKey("SparseCsrCUDA", _CUDA),
    DispatchKey("SparseMPS", _MPS, rule=_SPARSE_MPS, has_functions_header=True),
    DispatchKey("SparseCsrMPS", _MPS, rule=_SPARSE_MPS, has_functions_header=True),
    DispatchKey("QuantizedCPU", _CPU, allocation=ANY_DEVICE_ALLOCATION),
    DispatchKey("QuantizedCUDA", _CUDA, allocation=ANY_DEVICE_ALLOCATION),
    DispatchKey("CompositeImplicitAutograd", is_composite=True, has_functions_header=True),
    DispatchKey("CompositeImplicitAutogradNestedTensor", is_composite=True, has_functions_header=True),
    DispatchKey("CompositeExplicitAutograd", is_composite=True, has_functions_header=True),
    DispatchKey(
        "CompositeExplicitAutogradNonFunctional",
        is_composite=True,
        allocation=ANY_DEVICE_ALLOCATION,
        structured_guard=ANY_DEVICE_GUARD,
        generated_suffix="default_backend",
        has_functions_header=True,
    ),
    DispatchKey("NestedTensorCPU", _CPU),
    DispatchKey("NestedTensorCUDA", _CUDA),
    DispatchKey("NestedTensorXPU", _XPU, rule=_SPARSE_XPU, flag_rule=_XPU_SUBKEYS),
    DispatchKey("NestedTensorHPU", _HPU, rule=_NESTED_HPU),
    DispatchKey(
        "Meta",
        _META,
        allocation=Allocation("at::detail::empty{}_meta", "ATen/EmptyTensor.h", options="options.device(at::kMeta)"),
        generated_suffix="meta",
        has_functions_header=True,
    ),
    DispatchKey("SparseMeta", _META),
    DispatchKey("SparseCsrMeta", _META),
    DispatchKey("QuantizedMeta", _META),
    DispatchKey("NestedTensorMeta", _META),
    DispatchKey("ZeroTensor"),
    DispatchKey(
        "MTIA",
        _MTIA,
        has_structured=True,
        allocation=Allocation("at::detail::empty{}_mtia", "ATen/native/mtia/EmptyTensor.h"),
        structured_guard=ANY_DEVICE_GUARD,
        moves_guard=False,
        has_functions_header=True,
    ),
)

_WITH_ROWS: Final = tuple([row.device for row in _ROWS if row.device is not None])
#: The devices in the order of the dispatcher. Those that only a row has come last.
DEVICES: Final = tuple(dict.fromkeys((*_KNOWN_DEVICES, *_WITH_ROWS)))

#: The prefixes that make the keys of tensors on a device; the empty one is the dense key.
FUNCTIONALITIES: Final = ("", "Quantized", "Sparse", "SparseCsr", "NestedTensor")

#: The keys of no device without a row above, which no entry may name either.
_OTHERS: Final = (
    "Undefined", "FPGA", "MAIA", "Vulkan", "Metal", "MKLDNN", "OpenGL", "OpenCL", "IDEEP", "CustomRNGKeyId",
    "Sparse", "SparseCsr", "NestedTensor", "Dense", "PythonTLSSnapshot", "PreDispatch",
    "PythonDispatcher", "Python", "FuncTorchDynamicLayerBackMode", "Conjugate", "Negative",
    "BackendSelect", "Named", "AutogradOther", "AutogradFunctionality", "AutogradNestedTensor", "Tracer", "Autocast",
    "AutocastCPU", "AutocastCUDA", "AutocastXPU", "Batched", "VmapMode", "FuncTorchGradWrapper", "FuncTorchBatched",
    "BatchedNestedTensor", "FuncTorchVmapMode", "FuncTorchDynamicLayerFrontMode", "Functionalize",
    "TESTING_ONLY_GenericWrapper", "TESTING_ONLY_GenericMode", "ADInplaceOrView", "Autograd",
    "FuncTorchBatchedDecomposition",
)  # fmt: skip

#: What a key of a library's kernels may begin with: keys of tensors, of devices that PyTorch's files leave to
#: others, and of what happens before a kernel runs.
_LIBRARY_KEYS: Final = (
    "HIP", "XLA", "Lazy", "PrivateUse", "QuantizedPrivateUse", "SparsePrivateUse", "SparseCsrPrivateUse",
    "NestedTensorPrivateUse", "Autograd", "Autocast", "FuncTorchBatched", "BatchedNestedTensor", "ADInplaceOrView",
    "Functionalize", "Tracer", "BackendSelect", "Conjugate", "Negative", "HPU",
)  # fmt: skip


def _all_keys() -> dict[str, DispatchKey]:
    keys = {row.name: row for row in _ROWS}
    for device in dict.fromkeys((*_WITH_ROWS, *[device for device in DEVICES if device.is_generated])):
        for functionality in (*FUNCTIONALITIES, "Autograd"):
            name = functionality + device.name
            if name not in keys:
                keys[name] = DispatchKey(name, device, is_dispatchable=False)
    for name in _OTHERS:
        keys[name] = DispatchKey(name, is_dispatchable=False)
    keys["CatchAll"] = keys["Undefined"]
    return keys


#: All dispatch keys by name, aliases included; those that entries may name come first, in the order of their files.
KEYS: Final = _all_keys()


#: The names of keys that no row has, and that the generator in a source tree has.
LEARNED_KEYS: Final[set[str]] = set()


def learn_key(key: DispatchKey, *, before: str) -> None:
    """Add a key that entries of a source tree may name.

    Its files are made before those of the key named `before`, or last. Runs for other inputs leave it out.
    """
    LEARNED_KEYS.add(key.name)
    keys = {name: other for name, other in KEYS.items() if name != key.name}
    KEYS.clear()
    for name, other in keys.items():
        if name == before:
            KEYS[key.name] = key
        KEYS[name] = other
    KEYS.setdefault(key.name, key)


def key_named(name: str) -> DispatchKey:
    """Dispatch key of that name; KeyError where there is none."""
    return KEYS.get(name) or LIBRARY_KEYS[name]


def dispatch_keys() -> tuple[DispatchKey, ...]:
    """Keys that `dispatch` of native_functions.yaml may name, in the order in which their files are made."""
    return tuple([key for key in KEYS.values() if key.is_dispatchable])


def _library_keys() -> dict[str, DispatchKey]:
    keys = {key.name: key for key in dispatch_keys()}
    keys |= {name: key for name, key in KEYS.items() if name.startswith(_LIBRARY_KEYS)}
    # PyTorch's generator knows few of its Autocast keys.
    for device in [device for device in DEVICES if device.autocast_rank]:
        name = f"Autocast{device.name}"
        keys.setdefault(name, DispatchKey(name, is_dispatchable=False))
    return keys


#: The keys that `dispatch` of a library's entries may name, by name, in the order of their registrations.
LIBRARY_KEYS: Final = _library_keys()


def devices() -> tuple[Device, ...]:
    """Devices that have dispatch keys."""
    return tuple(dict.fromkeys([key.device for key in KEYS.values() if key.device is not None]))


def device_flags() -> dict[str, str]:
    """Command-line flags that add devices to a run, without dashes, with the name of the device.

    >>> device_flags()
    {'mps': 'MPS', 'xpu': 'XPU', 'mtia': 'MTIA'}
    """
    return {device.flag: device.name for device in devices() if device.flag}


UNDEFINED: Final = key_named("Undefined")
CPU: Final = key_named("CPU")
CUDA: Final = key_named("CUDA")
META: Final = key_named("Meta")
COMPOSITE_IMPLICIT: Final = key_named("CompositeImplicitAutograd")
COMPOSITE_IMPLICIT_NESTED: Final = key_named("CompositeImplicitAutogradNestedTensor")
COMPOSITE_EXPLICIT: Final = key_named("CompositeExplicitAutograd")
COMPOSITE_EXPLICIT_NON_FUNCTIONAL: Final = key_named("CompositeExplicitAutogradNonFunctional")
