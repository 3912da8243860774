"""What must hold for kernels, so that they can be declared and registered. It is asked before any file is written."""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import partial

from opwright.emit.aten.backend import Backend, backends, kernel_signature
from opwright.emit.emitter import Job
from opwright.model.native_function import NativeFunction, NativeFunctionsGroup
from opwright.source.diagnostic import Diagnostics, Fault

__all__ = ["check_kernels"]


def check_kernels(job: Job, families: Collection[str], sink: Diagnostics) -> None:
    """Reports each kernel that the headers, or the sources if the run makes them, have no text for."""
    registers = "sources" in families
    for function in job.catalog.functions:
        if not function.schema.has_symint:
            _check_symbolic(function, sink)
    groups = job.catalog.structured_groups
    for backend in backends(job):
        if backend.makes_structured:
            _check_made(backend, groups, sink)
    if registers:
        _check_registered(groups, sink)


def _check_symbolic(function: NativeFunction, sink: Diagnostics) -> None:
    """No kernel takes symbolic integers that its schema does not have."""
    for kernel in function.kernels.values():
        if kernel.symint and not kernel.structured:
            _check(partial(kernel_signature, function, kernel), sink)


def _check_made(backend: Backend, groups: Collection[NativeFunctionsGroup], sink: Diagnostics) -> None:
    """Structured groups have no kernel where theirs is made."""
    for group in groups:
        if backend.kernel(group) is not None:
            _check(partial(backend.runs_structured, group), sink)


def _check_registered(groups: Collection[NativeFunctionsGroup], sink: Diagnostics) -> None:
    """Structured kernels set tensors and get their arguments, and those of ufuncs can be made."""
    # Runs that write headers alone do without the code of sources.
    from opwright.emit.aten.register.structured_kernels import check_arguments, check_tensor_outputs
    from opwright.emit.aten.ufunc import check_ufunc

    for group in groups:
        _check(partial(check_tensor_outputs, group), sink)
        _check(partial(check_arguments, group), sink)
        if group.out.ufunc:
            _check(partial(check_ufunc, group), sink)


def _check(rule: Callable[[], object], sink: Diagnostics) -> None:
    """Adds what a rule raises; the same faults of several kernels of an entry are one."""
    try:
        rule()
    except Fault as fault:
        sink.add(fault.diagnostic)
