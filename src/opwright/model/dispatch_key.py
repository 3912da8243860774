"""Dispatch keys and their traits: one table for all of the program.

The names and their order are those of `c10/core/DispatchKey.h` as PyTorch's generator sees them.

>>> CUDA.device_guard, key_named("SparseCPU").backend, key_named("AutogradXPU").family
(True, 'CPU', 'xpu')
"""

from __future__ import annotations

from typing import Final

BACKENDS: Final = (
    "CPU", "CUDA", "HIP", "XLA", "MTIA", "MPS", "IPU", "XPU", "HPU", "VE", "Lazy", "Meta",
    "PrivateUse1", "PrivateUse2", "PrivateUse3",
)  # fmt: skip

#: The prefixes that make a backend's keys; the empty one is the dense key.
FUNCTIONALITIES: Final = ("", "Quantized", "Sparse", "SparseCsr", "NestedTensor", "Autograd")

#: The keys that belong to no backend of the list above.
_OTHERS: Final = (
    "Undefined", "FPGA", "MAIA", "Vulkan", "Metal", "MKLDNN", "OpenGL", "OpenCL", "IDEEP", "CustomRNGKeyId",
    "MkldnnCPU", "Sparse", "SparseCsr", "NestedTensor", "Dense", "PythonTLSSnapshot", "PreDispatch",
    "PythonDispatcher", "Python", "FuncTorchDynamicLayerBackMode", "ZeroTensor", "Conjugate", "Negative",
    "BackendSelect", "Named", "AutogradOther", "AutogradFunctionality", "AutogradNestedTensor", "Tracer", "Autocast",
    "AutocastCPU", "AutocastCUDA", "AutocastXPU", "Batched", "VmapMode", "FuncTorchGradWrapper", "FuncTorchBatched",
    "BatchedNestedTensor", "FuncTorchVmapMode", "FuncTorchDynamicLayerFrontMode", "Functionalize",
    "TESTING_ONLY_GenericWrapper", "TESTING_ONLY_GenericMode", "ADInplaceOrView", "Autograd",
    "CompositeImplicitAutograd", "CompositeImplicitAutogradNestedTensor", "CompositeExplicitAutograd",
    "CompositeExplicitAutogradNonFunctional", "FuncTorchBatchedDecomposition",
)  # fmt: skip

#: The backends that a family of compile-time switches, guards and export macros goes with.
_FAMILIES: Final = {"CUDA": "cuda", "XPU": "xpu"}


class DispatchKey:
    """One dispatch key. There is one object per name, so keys are compared by identity.

    `backend` and `functionality` are empty strings for keys of no backend; `family` is `cuda`, `xpu` or empty;
    `is_composite` marks the four alias keys of composite kernels; `has_structured` the backends for which structured
    kernels may be written; `device_guard` tells that kernels of the key run under a device guard.
    """

    __slots__ = ("backend", "family", "functionality", "has_structured", "is_composite", "lower", "name")

    def __init__(self, name: str, backend: str, functionality: str) -> None:
        self.name: Final = name
        self.lower: Final = name.lower()
        self.backend: Final = backend
        self.functionality: Final = functionality
        self.family: Final = _FAMILIES.get(backend, "")
        self.is_composite: Final = name.startswith("Composite")
        self.has_structured: Final = name in ("CPU", "CUDA", "MPS", "XPU", "MTIA")

    @property
    def device_guard(self) -> bool:
        """Whether kernels under the key run under a device guard unless their entry says otherwise."""
        return bool(self.family)

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return f"<dispatch key {self.name}>"

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return key_named, (self.name,)


def _all_keys() -> dict[str, DispatchKey]:
    keys = {name: DispatchKey(name, "CPU" if name == "MkldnnCPU" else "", "") for name in _OTHERS}
    for functionality in FUNCTIONALITIES:
        for backend in BACKENDS:
            name = functionality + backend
            keys[name] = DispatchKey(name, backend, functionality)
    keys["CatchAll"] = keys["Undefined"]
    return keys


_KEYS: Final = _all_keys()

#: The names of all dispatch keys, aliases included.
KEY_NAMES: Final = tuple(_KEYS)


def key_named(name: str) -> DispatchKey:
    """The dispatch key of that name; KeyError where there is none."""
    return _KEYS[name]


UNDEFINED: Final = key_named("Undefined")
CPU: Final = key_named("CPU")
CUDA: Final = key_named("CUDA")
META: Final = key_named("Meta")
MPS: Final = key_named("MPS")
XPU: Final = key_named("XPU")
MTIA: Final = key_named("MTIA")
COMPOSITE_IMPLICIT: Final = key_named("CompositeImplicitAutograd")
COMPOSITE_IMPLICIT_NESTED: Final = key_named("CompositeImplicitAutogradNestedTensor")
COMPOSITE_EXPLICIT: Final = key_named("CompositeExplicitAutograd")
COMPOSITE_EXPLICIT_NON_FUNCTIONAL: Final = key_named("CompositeExplicitAutogradNonFunctional")

#: The keys that `dispatch:` of native_functions.yaml may name, in the order in which their files are made.
DISPATCH_KEYS: Final = tuple(
    key_named(name)
    for name in (
        "CPU", "SparseCPU", "SparseCsrCPU", "MkldnnCPU", "CUDA", "MPS", "XPU", "SparseXPU", "SparseCsrXPU",
        "SparseCUDA", "SparseCsrCUDA", "SparseMPS", "SparseCsrMPS", "QuantizedCPU", "QuantizedCUDA",
        "CompositeImplicitAutograd", "CompositeImplicitAutogradNestedTensor", "CompositeExplicitAutograd",
        "CompositeExplicitAutogradNonFunctional", "NestedTensorCPU", "NestedTensorCUDA", "NestedTensorXPU",
        "NestedTensorHPU", "Meta", "SparseMeta", "SparseCsrMeta", "QuantizedMeta", "NestedTensorMeta", "ZeroTensor",
        "MTIA",
    )
)  # fmt: skip
