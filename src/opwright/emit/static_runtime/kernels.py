"""The C++ functions that static runtime calls. It runs on the CPU only."""

from __future__ import annotations

from typing import Final

from opwright.convention import public_api
from opwright.model.dispatch_key import CPU
from opwright.model.native_function import Kernel, NativeFunction

__all__ = ["KERNEL_NAMESPACE", "STRUCTURED_NAMESPACE", "function_name", "own_kernel"]

#: The namespace in which generated code calls kernels.
KERNEL_NAMESPACE: Final = "at::native"
#: The namespace of the functions around structured kernels.
STRUCTURED_NAMESPACE: Final = f"at::{CPU.name.lower()}"


def own_kernel(function: NativeFunction) -> Kernel | None:
    """The kernel of an overload for the device of static runtime, None if it has only kernels for others."""
    return function.kernels.get(CPU)


def function_name(function: NativeFunction, *, structured: bool) -> str:
    """The C++ function that computes an overload, with its namespace.

    A structured kernel is called by the function around it, which has the overload's public name. An overload without
    a kernel of its own has one of that name in the namespace of kernels.
    """
    kernel = None if structured else own_kernel(function)
    name = public_api.name(function.schema) if kernel is None else kernel.name
    return f"{STRUCTURED_NAMESPACE if structured else KERNEL_NAMESPACE}::{name}"
