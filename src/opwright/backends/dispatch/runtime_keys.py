"""Runtime dispatch keys: those under which PyTorch's dispatcher has a slot for each operator, in its order.

`model/dispatch_key.py` knows what files are generated for a key. This table knows what the dispatcher does where no
kernel is registered, and where PyTorch registers kernels by hand that no YAML names.

>>> keys = {runtime_key.name: runtime_key for runtime_key in runtime_keys()}
>>> keys["CPU"].kind.name, keys["AutogradCPU"].backend, keys["Tracer"].fallback.name
('backend', 'CPU', 'fallthrough')
"""

from __future__ import annotations

import enum
from collections.abc import Iterator
from functools import cache
from typing import Final

from opwright.model.dispatch_key import (
    COMPOSITE_EXPLICIT,
    COMPOSITE_EXPLICIT_NON_FUNCTIONAL,
    COMPOSITE_IMPLICIT,
    COMPOSITE_IMPLICIT_NESTED,
    DEVICES,
    FUNCTIONALITIES,
    KEYS,
    LIBRARY_KEYS,
    Device,
    DispatchKey,
)
from opwright.source.records import NamedTuple


class KeyKind(enum.Enum):
    """What a runtime key stands for."""

    backend = "tensors of a device and a layout"
    autograd = "gradients of the tensors of a device"
    functionality = "something that happens before a kernel computes"

    __hash__ = object.__hash__


class KeyFallback(enum.Enum):
    """What PyTorch registers under a key for all operators without a kernel."""

    none = "the call raises NotImplementedError"
    error = "a kernel that raises NotImplementedError"
    fallthrough = "nothing: the next key is asked"
    boxed = "a kernel for all operators"

    __hash__ = object.__hash__


class RuntimeKey(NamedTuple):
    """A dispatch key with a slot in the dispatcher's tables.

    `backend` is the name of the device, empty for keys of no device. `does` says in a few words what a boxed fallback
    does. `by_hand` are patterns of PyTorch's sources that register kernels for single operators by hand, and `reason`
    is why they do.
    """

    key: DispatchKey
    kind: KeyKind
    fallback: KeyFallback = KeyFallback.none
    does: str = ""
    by_hand: tuple[str, ...] = ()
    reason: str = ""

    @property
    def name(self) -> str:
        """Name of the key."""
        return self.key.name

    @property
    def backend(self) -> str:
        """Name of the device."""
        return self.key.backend


#: Keys of tensors between those of devices: in front of which functionality they stand.
_OTHER_BACKENDS: Final = {
    "": ("Undefined",),
    "Quantized": ("FPGA", "Vulkan", "Metal"),
    "Sparse": ("CustomRNGKeyId", "MkldnnCPU"),
}


@cache
def _key(name: str, device: Device | None = None) -> DispatchKey:
    """Key of a name; PyTorch has a few that its generator does not know."""
    key = KEYS.get(name)
    if key is not None and (device is None or key.backend == device.name):
        return key
    return DispatchKey(name, device, is_dispatchable=False)


def _row(
    name: str, fallback: KeyFallback, does: str = "", by_hand: tuple[str, ...] = (), reason: str = ""
) -> RuntimeKey:
    return RuntimeKey(_key(name), KeyKind.functionality, fallback, does, by_hand, reason)


_BOXED: Final = KeyFallback.boxed
_FALLTHROUGH: Final = KeyFallback.fallthrough
_META_IN_PYTHON: Final = ("torch/_meta_registrations.py", "torch/_refs/*.py", "torch/_decomp/*.py")
_IN_PYTHON: Final = ("torch/_native/*.py", "torch/_refs/*.py")
_PYTHON: Final = "runs `__torch_dispatch__`"
_OWN_DATA: Final = "The operators change autograd's data."
_BATCHES: Final = "How an operator runs over a batch is written by hand for each."
_RANDOM: Final = "The operators draw random numbers."

#: What happens before a kernel computes, in the dispatcher's order. A name that ends in `*` stands for all devices.
_BEFORE_KERNELS: Final = (
    _row("BackendSelect", _FALLTHROUGH),
    _row("Python", _BOXED, _PYTHON),
    _row(
        "FuncTorchDynamicLayerBackMode",
        _BOXED,
        "leaves a functorch transform",
        ("aten/src/ATen/functorch/DynamicLayer.cpp",),
        "The operators see the wrappers of functorch.",
    ),
    _row(
        "Functionalize",
        _BOXED,
        "unwraps functional tensors and calls the operator",
        ("aten/src/ATen/FunctionalizeFallbackKernel.cpp",),
        "The operators make functional tensors, or replace what is in them.",
    ),
    _row(
        "Conjugate",
        _BOXED,
        "conjugates tensors that are marked so and calls the operator",
        ("aten/src/ATen/ConjugateFallback.cpp",),
        "The operators take tensors with the mark.",
    ),
    _row(
        "Negative",
        _BOXED,
        "negates tensors that are marked so and calls the operator",
        ("aten/src/ATen/native/NegateFallback.cpp",),
        "The operators take tensors with the mark.",
    ),
    _row(
        "ZeroTensor",
        _BOXED,
        "puts zeros into memory and calls the operator",
        ("aten/src/ATen/ZeroTensorFallback.cpp",),
        "The operators do not read the memory.",
    ),
    _row("ADInplaceOrView", _FALLTHROUGH, "", ("torch/csrc/autograd/VariableTypeManual.cpp",), _OWN_DATA),
    _row("AutogradOther", _BOXED),
    _row("Autograd*", _BOXED),
    _row("AutogradNestedTensor", KeyFallback.none),
    _row("Tracer", _FALLTHROUGH, "", ("torch/csrc/autograd/TraceTypeManual.cpp",), _OWN_DATA),
    _row(
        "Autocast*",
        _FALLTHROUGH,
        "",
        ("aten/src/ATen/autocast_mode.cpp",),
        "Which operators cast their arguments is a list in C++.",
    ),
    _row(
        "FuncTorchBatched",
        _BOXED,
        "calls the operator for each item of the batch and warns",
        ("aten/src/ATen/functorch/BatchRules*.cpp", "aten/src/ATen/functorch/LegacyBatchingRegistrations.cpp"),
        _BATCHES,
    ),
    _row(
        "BatchedNestedTensor",
        _BOXED,
        "raises an error, because nested tensors have no batching rule",
        ("aten/src/ATen/functorch/LegacyBatchingRegistrations.cpp",),
        _BATCHES,
    ),
    _row(
        "FuncTorchVmapMode",
        _FALLTHROUGH,
        "",
        ("aten/src/ATen/functorch/BatchRules*.cpp", "aten/src/ATen/functorch/VmapModeRegistrations.cpp"),
        _RANDOM,
    ),
    _row(
        "Batched",
        _BOXED,
        "calls the operator for each item of the batch",
        ("aten/src/ATen/LegacyBatchingRegistrations.cpp",),
        _BATCHES,
    ),
    _row("VmapMode", _FALLTHROUGH, "", ("aten/src/ATen/VmapModeRegistrations.cpp",), _RANDOM),
    _row("FuncTorchGradWrapper", _BOXED, "takes tensors out of the wrappers of functorch"),
    _row("PythonTLSSnapshot", _BOXED, "keeps the state of the thread for `__torch_dispatch__`"),
    _row(
        "FuncTorchDynamicLayerFrontMode",
        _BOXED,
        "enters a functorch transform",
        ("aten/src/ATen/functorch/PyTorchOperatorHacks.cpp",),
        "The operators are decomposed for functorch.",
    ),
    _row("PreDispatch", _BOXED, _PYTHON),
    _row("PythonDispatcher", _BOXED, "asks the tables of the operator in Python"),
)


@cache
def runtime_keys() -> tuple[RuntimeKey, ...]:
    """All runtime keys, in the order of the dispatcher's tables."""
    keys: list[RuntimeKey] = []
    for functionality in FUNCTIONALITIES:
        keys += [RuntimeKey(_key(name), KeyKind.backend) for name in _OTHER_BACKENDS.get(functionality, ())]
        keys += [_backend_key(functionality, device) for device in DEVICES]
    for row in _BEFORE_KERNELS:
        if row.name.startswith("Autograd"):
            keys += _autograd_keys(row)
        elif row.name.endswith("*"):
            devices = [device for device in DEVICES if device.autocast_rank]
            keys += [_autocast_key(row, device) for device in sorted(devices, key=lambda device: device.autocast_rank)]
        else:
            keys.append(row)
    return tuple(keys)


def _backend_key(functionality: str, device: Device) -> RuntimeKey:
    key = _key(functionality + device.name, device)
    if key.name == "Meta":
        reason = "Kernels that compute shapes in Python replace generated ones."
        return RuntimeKey(key, KeyKind.backend, KeyFallback.error, by_hand=_META_IN_PYTHON, reason=reason)
    if key.name != device.name:
        return RuntimeKey(key, KeyKind.backend)
    return RuntimeKey(key, KeyKind.backend, by_hand=_IN_PYTHON, reason="A few kernels are written in Python.")


def _autocast_key(row: RuntimeKey, device: Device) -> RuntimeKey:
    key = _key(row.name.removesuffix("*") + device.name)
    return row._replace(key=key) if device.has_autocast_fallback else RuntimeKey(key, row.kind)


def _autograd_keys(row: RuntimeKey) -> Iterator[RuntimeKey]:
    devices: tuple[Device | None, ...] = DEVICES if row.name.endswith("*") else (None,)
    for device in devices:
        name = row.name if device is None else row.name.removesuffix("*") + device.name
        fallback = row.fallback if device is None or device.has_autograd_fallback else KeyFallback.none
        does = "calls the kernel below and records no gradient" if fallback is _BOXED else ""
        by_hand = ("torch/csrc/autograd/VariableTypeManual.cpp",)
        yield RuntimeKey(_key(name, device), KeyKind.autograd, fallback, does, by_hand, _OWN_DATA)


@cache
def backends_of(key: DispatchKey) -> frozenset[str]:
    """Names of the backend keys whose tensors have their gradients recorded under an Autograd key."""
    if key.backend:
        return frozenset((key.backend,))
    names = [runtime_key.name for runtime_key in runtime_keys() if runtime_key.kind is KeyKind.backend]
    nested = frozenset([name for name in names if name.startswith("NestedTensor")])
    return (
        nested
        if key.name == "AutogradNestedTensor"
        else frozenset(names) - nested - {"Undefined", *[device.name for device in DEVICES]}
    )


def key_names() -> frozenset[str]:
    """Names of all dispatch keys, of those without generated kernels too.

    >>> {"CPU", "Tracer", "AutocastPrivateUse1", "Autograd"} - key_names()
    set()
    """
    return frozenset([*KEYS, *LIBRARY_KEYS, *[runtime_key.name for runtime_key in runtime_keys()]])


def key_text(name: str) -> str:
    """What a key of `key_names()` is for, as sentences.

    >>> print(key_text("AutogradCPU"))  # doctest: +ELLIPSIS
    It stands for gradients of the tensors of a device (the device CPU). ...
    """
    runtime_key = next((key for key in runtime_keys() if key.name == name), None)
    if runtime_key is not None:
        return " ".join(_runtime_sentences(runtime_key))
    return _ALIASES.get(name, "It is none of the keys under which the dispatcher has kernels.")


#: What kernels of the alias keys are for. PyTorch's `aten/src/ATen/native/README.md` says it at more length.
_ALIASES: Final = {
    "CompositeImplicitAutograd": "It stands for all devices and their gradients: its kernels call other operators, "
    "whose gradients are those of the operator. It is the key of entries without `dispatch`.",
    "CompositeImplicitAutogradNestedTensor": "It stands for nested tensors and their gradients, as "
    "CompositeImplicitAutograd does for others.",
    "CompositeExplicitAutograd": "It stands for all devices: its kernels call other operators, and the gradient is a "
    "formula of derivatives.yaml.",
    "CompositeExplicitAutogradNonFunctional": "It stands for all devices but those whose tensors are functionalized: "
    "its kernels call other operators in forms that write to their arguments. The wrappers of structured kernels that "
    "allocate outputs are registered for it too.",
    "Autograd": "It stands for the Autograd keys of all devices: its kernels record gradients, then call the kernel "
    "below.",
}


def _runtime_sentences(key: RuntimeKey) -> Iterator[str]:
    device = f" (the device {key.backend})" if key.backend else ""
    yield f"It stands for {key.kind.value}{device}."
    aliases = _aliases(key)
    last = f"{key.fallback.value}: {key.does}" if key.fallback is KeyFallback.boxed and key.does else key.fallback.value
    yield (
        f"Operators without a kernel for it run that for {aliases}; without these, {last}."
        if aliases
        else f"What runs for operators without a kernel for it: {last}."
    )
    if key.by_hand:
        yield f"PyTorch registers some by hand in {', '.join(key.by_hand)}."


def _aliases(key: RuntimeKey) -> str:
    """The alias keys whose kernels stand in, in the order in which PyTorch asks them."""
    if key.kind is KeyKind.backend:
        names = [composite.name for composite in composite_keys(key.key)]
        return f"{', '.join(names[:-1])} or {names[-1]}, the first that there is"
    if key.kind is KeyKind.autograd:
        return "CompositeImplicitAutograd, if they have none for the device, or Autograd"
    return ""


def composite_keys(key: DispatchKey) -> tuple[DispatchKey, ...]:
    """Composite keys whose kernels serve a device's key that has none, in the order in which PyTorch asks them.

    >>> from opwright.model.dispatch_key import key_named
    >>> [composite.name for composite in composite_keys(key_named("SparsePrivateUse1"))]
    ['CompositeExplicitAutograd', 'CompositeImplicitAutograd']
    """
    functionality = key.name.removesuffix(key.backend)
    if functionality == "NestedTensor":
        return COMPOSITE_IMPLICIT_NESTED, COMPOSITE_IMPLICIT
    if functionality == "Sparse" or (key.device is not None and key.device.is_functionalized):
        return COMPOSITE_EXPLICIT, COMPOSITE_IMPLICIT
    return COMPOSITE_EXPLICIT_NON_FUNCTIONAL, COMPOSITE_EXPLICIT, COMPOSITE_IMPLICIT
