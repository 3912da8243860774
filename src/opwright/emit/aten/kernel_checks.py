"""Checks that kernels can be declared and registered. They run before Opwright writes any file."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from opwright.emit.aten.backend import backends, kernel_signature
from opwright.emit.aten.register.structured_kernels import check_arguments, check_tensor_outputs
from opwright.emit.aten.ufunc import check_ufunc
from opwright.emit.emitter import Job
from opwright.source.diagnostic import Diagnostics, Fault


def check_kernels(job: Job, sink: Diagnostics) -> None:
    """Report each kernel that cannot be declared.

    These are kernels that take symbolic integers although their schema has none, and kernels of structured groups under
    keys whose wrappers are generated.
    """
    for function in job.catalog.functions:
        for kernel in () if function.schema.has_symint else function.kernels.values():
            if kernel.symint and not kernel.structured:
                with _reported(sink):
                    kernel_signature(function, kernel)
    for backend in backends(job):
        for group in job.catalog.structured_groups if backend.wraps_all_structured else ():
            if backend.kernel(group) is not None:
                with _reported(sink):
                    backend.runs_structured(group)


def check_registered(job: Job, sink: Diagnostics) -> None:
    """Report each structured kernel that cannot be registered, because of its arguments, its results or its ufunc."""
    for group in job.catalog.structured_groups:
        for check in (check_tensor_outputs, check_arguments, check_ufunc):
            with _reported(sink):
                check(group)


@contextmanager
def _reported(sink: Diagnostics) -> Iterator[None]:
    """Reports the fault that a block raises. The sink reports equal faults of several kernels of an entry once."""
    try:
        yield
    except Fault as fault:
        sink.add(fault.diagnostic)
