"""Kernels made from a function of one element: the names of `torchgen.dest.ufunc`."""

from __future__ import annotations

from opwright.emit.aten.ufunc import check_ufunc, cpu_definitions, cpu_kernel, cuda_definitions
from opwright.model.native_function import NativeFunctionsGroup as ModelGroup
from opwright.source.diagnostic import Fault
from opwright.torchgen.interface.faults import Invalid
from opwright.torchgen.interface.functions import NativeFunctionsGroup, model_group


def compute_ufunc_cpu(g: NativeFunctionsGroup) -> str:
    """Stub of a group and the kernel for CPU that calls it. Raises AssertionError if its loops make no kernel."""
    return cpu_definitions(_checked(g))


def compute_ufunc_cpu_kernel(g: NativeFunctionsGroup) -> str:
    """Function behind the stub for CPU, with its loops. Raises AssertionError if its loops make no kernel."""
    return cpu_kernel(_checked(g))


def compute_ufunc_cuda(g: NativeFunctionsGroup) -> str:
    """The functors and the kernel for CUDA. Raises AssertionError if its loops make no kernel."""
    return cuda_definitions(_checked(g))


def _checked(g: NativeFunctionsGroup) -> ModelGroup:
    group = model_group(g)
    try:
        check_ufunc(group)
    except Fault as fault:
        raise Invalid(str(fault)) from None
    return group
