"""Checks that kernels can be declared and registered. They run before Opwright writes any file."""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import partial

from opwright.emit.aten.backend import Backend, backends, kernel_signature
from opwright.emit.aten.register.structured_kernels import check_arguments, check_tensor_outputs
from opwright.emit.aten.ufunc import check_ufunc
from opwright.emit.emitter import Job
from opwright.model.native_function import NativeFunction, NativeFunctionsGroup
from opwright.source.diagnostic import Diagnostics, Fault


def check_kernels(job: Job, sink: Diagnostics) -> None:
    """Report each kernel that cannot be declared."""
    for function in job.catalog.functions:
        if not function.schema.has_symint:
            _check_symbolic(function, sink)
    groups = job.catalog.structured_groups
    for backend in backends(job):
        if backend.wraps_all_structured:
            _check_made(backend, groups, sink)


def _check_symbolic(function: NativeFunction, sink: Diagnostics) -> None:
    """Report kernels that take symbolic integers although their schema has none."""
    for kernel in function.kernels.values():
        if kernel.symint and not kernel.structured:
            _check(partial(kernel_signature, function, kernel), sink)


def _check_made(backend: Backend, groups: Collection[NativeFunctionsGroup], sink: Diagnostics) -> None:
    """Report kernels of structured groups under keys whose wrappers are generated."""
    for group in groups:
        if backend.kernel(group) is not None:
            _check(partial(backend.runs_structured, group), sink)


def check_registered(job: Job, sink: Diagnostics) -> None:
    """Report each structured kernel that cannot be registered, because of its arguments, its results or its ufunc."""
    for group in job.catalog.structured_groups:
        _check(partial(check_tensor_outputs, group), sink)
        _check(partial(check_arguments, group), sink)
        if group.out.ufunc:
            _check(partial(check_ufunc, group), sink)


def _check(rule: Callable[[], object], sink: Diagnostics) -> None:
    """Report what a rule raises. The sink reports equal faults of several kernels of an entry once."""
    try:
        rule()
    except Fault as fault:
        sink.add(fault.diagnostic)
