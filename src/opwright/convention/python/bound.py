"""Which overloads get a generated Python binding, and in which module."""

from __future__ import annotations

from typing import Final

from opwright.convention import public_api
from opwright.convention.caching import per_function
from opwright.model.native_function import NativeFunction
from opwright.release.operator_names.python_bindings import UNBOUND, UNBOUND_PREFIXES, UNBOUND_SCHEMAS, UNBOUND_SUFFIXES
from opwright.source.records import NamedTuple

_UNBOUND_PREFIXES: Final = tuple(UNBOUND_PREFIXES.in_any_release)
_UNBOUND_SUFFIXES: Final = tuple(UNBOUND_SUFFIXES.in_any_release)


def is_bound_name(name: str) -> bool:
    """Whether operators of a C++ name get a Python binding.

    >>> [is_bound_name(name) for name in ("add", "tanh_backward", "size", "_sparse_coo_tensor_unsafe")]
    [True, False, False, False]
    """
    return not (
        name in UNBOUND.in_any_release or name.startswith(_UNBOUND_PREFIXES) or name.endswith(_UNBOUND_SUFFIXES)
    )


@per_function
def is_bound(function: NativeFunction) -> bool:
    """Whether an overload gets a Python binding.

    Synthesized overloads do not, since they are slower than what they replace. Copying forms of views do, since they
    had one before they were synthesized.
    """
    if "generated" in function.tags and "view_copy" not in function.tags:
        return False
    if not is_bound_name(public_api.name(function.schema)):
        return False
    without = UNBOUND_SCHEMAS.in_any_release.get(function.name.text)
    return without is None or without != str(function.schema)


class PythonModule(NamedTuple):
    """A Python module with generated functions.

    `name` is the module's Python name, `key` its `python_module` in entries (None for `torch`), `variable` the C++
    variable with the module object.
    """

    name: str
    key: str | None
    variable: str


TORCH: Final = PythonModule("torch", None, "THPVariableFunctionsModule")
NN: Final = PythonModule("torch.nn", "nn", "THPNNVariableFunctionsModule")
FFT: Final = PythonModule("torch.fft", "fft", "THPFFTVariableFunctionsModule")
LINALG: Final = PythonModule("torch.linalg", "linalg", "THPLinalgVariableFunctionsModule")
NESTED: Final = PythonModule("torch.nested", "nested", "THPNestedVariableFunctionsModule")
SPARSE: Final = PythonModule("torch.sparse", "sparse", "THPSparseVariableFunctionsModule")
SPECIAL: Final = PythonModule("torch.special", "special", "THPSpecialVariableFunctionsModule")

#: Stands for the methods of `torch.Tensor`.
TENSOR_METHODS: Final = PythonModule("torch.Tensor", None, "THPVariableClass")

#: All modules, the methods first.
MODULES: Final = (TENSOR_METHODS, TORCH, NN, FFT, LINALG, NESTED, SPARSE, SPECIAL)


def is_in_module(function: NativeFunction, module: PythonModule) -> bool:
    """Whether an overload belongs to a module, or is a method of `torch.Tensor`."""
    if function.python_module != module.key:
        return False
    if module is TENSOR_METHODS:
        return function.method
    return function.function or module is not TORCH
