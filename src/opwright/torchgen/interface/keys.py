"""Enumerations of the interface: dispatch keys, dtypes with sets of them, kinds and choices."""

from __future__ import annotations

import enum
from importlib import import_module
from typing import Any, Final

from opwright.dialects.native_functions.dispatch import DTYPE_CLASSES as MODEL_CLASSES
from opwright.dialects.native_functions.dispatch import DTYPES
from opwright.model import dispatch_key as key_table
from opwright.torchgen.interface.faults import Invalid
from opwright.torchgen.interface.records import Record, record
from opwright.torchgen.utils import OrderedSet


class ScalarType(enum.Enum):
    """A dtype that a ufunc entry may name."""

    _ignore_ = "name_ number_"
    for number_, name_ in enumerate(DTYPES, 1):
        vars()[name_] = number_

    def __str__(self) -> str:
        return self.name

    @staticmethod
    def maybe_parse(value: str) -> ScalarType | None:
        """Dtype of a name; None if there is none."""
        return ScalarType[value] if value in ScalarType.__members__ else None

    @staticmethod
    def parse(value: str) -> ScalarType:
        """Dtype of a name. Raises AssertionError if there is none."""
        if value not in ScalarType.__members__:
            raise Invalid(f"no dtype is named `{value}`")
        return ScalarType[value]

    @staticmethod
    def parse_set(values: str) -> OrderedSet[ScalarType]:
        """Dtypes of a list of names of dtypes and of classes of them."""
        dtypes: OrderedSet[ScalarType] = OrderedSet()
        for word in values.split(", "):
            dtypes.update(DTYPE_CLASSES[word] if word in DTYPE_CLASSES else OrderedSet([ScalarType.parse(word)]))
        return dtypes


#: The names that stand for several dtypes.
DTYPE_CLASSES: Final = {
    name: OrderedSet([ScalarType[dtype] for dtype in dtypes]) for name, dtypes in MODEL_CLASSES.items()
}


@record("name supported_dtypes ufunc_key")
class UfuncInnerLoop(Record):
    """One loop of a ufunc: the C++ function of its body, and the dtypes for which it runs."""

    ufunc_key: UfuncKey
    supported_dtypes: OrderedSet[ScalarType]
    name: str

    @staticmethod
    def parse(value: str, ufunc_key: UfuncKey) -> UfuncInnerLoop:
        """Loop of a text `name (dtype, ...)`. Raises ValueError or AssertionError if it is not one."""
        name, rest = value.split(" ", 1)
        if not (rest.startswith("(") and rest.endswith(")")):
            raise Invalid(f"`{value}` is not a loop such as `add (AllAndComplex, Half)`")
        return UfuncInnerLoop(ufunc_key=ufunc_key, supported_dtypes=ScalarType.parse_set(rest[1:-1]), name=name)


#: The devices that the enumeration has elsewhere than the dispatcher, with the device that each follows.
_MOVED: Final = {"MTIA": "XLA", "Meta": "Lazy"}


def _components() -> list[str]:
    """Names of devices in the order of the enumeration."""
    devices = [device.name for device in key_table.DEVICES if device.is_generated and device.name not in _MOVED]
    for name, previous in _MOVED.items():
        devices.insert(devices.index(previous) + 1, name)
    return devices


BACKEND_COMPONENTS: Final = _components()
FUNCTIONALITY_KEYS: Final = [*key_table.FUNCTIONALITIES, "Autograd"]

#: Keys of no device in the order of the enumeration, of which each stands after another one of Opwright's table.
_PLACED_AFTER: Final = {
    "CustomRNGKeyId": ("MkldnnCPU",),
    "FuncTorchDynamicLayerBackMode": ("ZeroTensor",),
    "Autograd": (
        "CompositeImplicitAutograd",
        "CompositeImplicitAutogradNestedTensor",
        "CompositeExplicitAutograd",
        "CompositeExplicitAutogradNonFunctional",
    ),
}


def _numbered_keys() -> dict[str, int]:
    """Number of each dispatch key by name; `CatchAll` is another name of the first one."""
    per_device = [family + component for family in FUNCTIONALITY_KEYS for component in BACKEND_COMPONENTS]
    placed = {name for names in _PLACED_AFTER.values() for name in names}
    names: list[str] = []
    for name, key in key_table.KEYS.items():
        if key.device is None and name not in placed and name != "CatchAll" and not key.is_dispatchable:
            names += (name, *_PLACED_AFTER.get(name, ()))
    learned = [name for name in key_table.LEARNED_KEYS if name not in per_device]
    numbers = {name: number for number, name in enumerate([*names, *per_device, *learned])}
    return {"Undefined": 0, "CatchAll": 0, **numbers}


class DispatchKey(enum.Enum):
    """A dispatch key, with the number that PyTorch's generator gives it."""

    _ignore_ = "name_ number_"
    for name_, number_ in _numbered_keys().items():
        vars()[name_] = number_

    def __str__(self) -> str:
        return self.name

    def lower(self) -> str:
        """Name in lower case."""
        return str(self).lower()

    @staticmethod
    def parse(value: str) -> DispatchKey:
        """Key of a name. Raises AssertionError if there is none."""
        if value not in DispatchKey.__members__:
            raise Invalid(f"no dispatch key is named `{value}`")
        return DispatchKey[value]


AUTOGRAD_KEYS: Final = ["AutogradNestedTensor", *[f"Autograd{component}" for component in BACKEND_COMPONENTS]]
FRAGMENT_NAMESPACES: Final = {"quantized", "quantized_decomposed"}
DEFAULT_KERNEL_NAMESPACE: Final = "at::native"

#: The keys that have files, in the order of these. Programs add those that their entries name.
dispatch_keys: Final = [DispatchKey[key.name] for key in key_table.dispatch_keys()]
STRUCTURED_DISPATCH_KEYS: Final = {DispatchKey[key.name] for key in key_table.dispatch_keys() if key.has_structured}
UFUNC_DISPATCH_KEYS: Final = {DispatchKey[key.name] for key in (key_table.CPU, key_table.CUDA)}


def model_key(key: DispatchKey) -> key_table.DispatchKey:
    """Row of a dispatch key in Opwright's table."""
    return key_table.key_named(key.name)


def named_keys() -> dict[str, key_table.DispatchKey]:
    """Keys that entries may name: those in `dispatch_keys`, by the names that callers give them."""
    keys: list[DispatchKey] = current_value("dispatch_keys")
    return {name: model_key(key) for key in keys for name in (key.name, str(key))}


def current_value(name: str) -> Any:  # noqa: ANN401
    """Value of a constant of `torchgen.model`, which programs replace."""
    return getattr(import_module("opwright.torchgen.model"), name)


def codegen_per_backend_entries() -> str:
    """Members of the enumeration that every device has, as lines of its Python source."""
    return "\n".join(
        [f"    {family}{component} = auto()" for family in FUNCTIONALITY_KEYS for component in BACKEND_COMPONENTS]
    )


def is_generic_dispatch_key(dk: DispatchKey) -> bool:
    """Whether kernels of a key serve all devices."""
    return model_key(dk).is_composite


def is_cuda_dispatch_key(dk: DispatchKey) -> bool:
    """Whether a key is one of CUDA's, whose kernels CUDA's library has."""
    return model_key(dk).backend == "CUDA"


def is_xpu_dispatch_key(dk: DispatchKey) -> bool:
    """Whether a key is one of XPU's, whose kernels XPU's library has."""
    return model_key(dk).backend == "XPU"


#: The keys of a library of its own -> the name of the library's device.
dispatch_device_map: Final = {is_cuda_dispatch_key: "cuda", is_xpu_dispatch_key: "xpu"}


def is_structured_dispatch_key(dk: DispatchKey) -> bool:
    """Whether structured kernels may be written for a key."""
    keys: set[DispatchKey] = current_value("STRUCTURED_DISPATCH_KEYS")
    return dk in keys


def is_ufunc_dispatch_key(dk: DispatchKey) -> bool:
    """Whether the loops of ufuncs make kernels for a key."""
    return dk in UFUNC_DISPATCH_KEYS


class _TorchDispatchModeKey(enum.Enum):
    """Modes of `__torch_dispatch__` that PyTorch itself has."""

    FAKE, PROXY, FUNCTIONAL = 1, 2, 3


class Variant(enum.Enum):
    """Whether an overload is a function, a method of Tensor, or both."""

    function, method = 1, 2


class DeviceCheckType(enum.Enum):
    """Whether a wrapper checks that all tensors are on the same device."""

    NoCheck, ExactSame = 0, 1


class ViewSchemaKind(enum.Enum):
    """How the result of a function shares memory with its arguments."""

    aliasing, aliasing_inplace, non_aliasing = 1, 2, 3


class SchemaKind(enum.Enum):
    """What a function does with its arguments."""

    functional, inplace, out, mutable, scratch = 1, 2, 3, 4, 5


class UfuncKey(enum.Enum):
    """Loops that a ufunc entry may name."""

    CUDAFunctor, CUDAFunctorOnOther, CUDAFunctorOnSelf, CPUScalar, CPUVector, ScalarOnly, Generic = 1, 2, 3, 4, 5, 6, 7

    def __str__(self) -> str:
        return self.name

    @staticmethod
    def parse(value: str) -> UfuncKey:
        """Loop of a name. Raises AssertionError if there is none."""
        if value not in UfuncKey.__members__:
            raise Invalid(f"no loop of ufuncs is named `{value}`")
        return UfuncKey[value]
