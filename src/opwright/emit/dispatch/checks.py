"""Checks of backends that every run makes: which operators a backend lacks, and what breaks without them."""

from __future__ import annotations

from typing import Final

from opwright.emit.aten.backend import units_of
from opwright.emit.backend.section_file import SectionFile
from opwright.emit.dispatch.device_kernels import DeviceKernels, Dispatch
from opwright.emit.dispatch.records import TrapKind
from opwright.emit.dispatch.traps import TrapFacts, dispatch_traps, needs_kernels
from opwright.emit.emitter import Job
from opwright.model.external_backend import ExternalBackend, Fallback
from opwright.model.native_function import NativeFunction
from opwright.source import codes
from opwright.source.diagnostic import Diagnostics


def device_dispatch(backend: ExternalBackend, job: Job, fallback: Fallback) -> Dispatch:
    """What calls of operators reach under a backend's own dispatch key."""
    dense = backend.section("supported")
    entries = {} if dense is None else {entry.function: entry for entry in dense.entries}
    units = [] if dense is None else units_of(SectionFile(backend, dense).wrapping, job)
    kernels = DeviceKernels(
        backend.key,
        entries,
        {function: kind for _, members in units for function, kind in members},
        manual=backend.options.manual,
        has_fallback=fallback is Fallback.cpu,
    )
    return Dispatch(kernels, job.catalog, job.rules)


_CODES: Final = {
    TrapKind.needed: codes.NEEDED_OPERATOR,
    TrapKind.view_fallback: codes.LEFT_VIEW,
    TrapKind.inplace_alone: codes.INPLACE_ALONE,
}


def check_backends(job: Job, sink: Diagnostics) -> None:
    """Warn about operators that a backend should have.

    Files with nothing but what PyTorch's own generator reads do not say what else the backend registers, so they have
    no warnings.
    """
    for backend in job.backends:
        # Files in Opwright's dialect derive overloads from out kernels.
        if backend.options.derives_from_out:
            facts = TrapFacts(
                device_dispatch(backend, job, backend.options.fallback),
                job.rules,
                backend.options.fallback_copies_views,
            )
            for function in _checked_functions(backend, job):
                _report(function, backend, facts, sink)


def _checked_functions(backend: ExternalBackend, job: Job) -> list[NativeFunction]:
    """The functions that may have a trap: those that every device needs, and those with an entry."""
    dense = backend.section("supported")
    entries = frozenset(entry.function for entry in dense.entries) if dense is not None else frozenset()
    return [function for function in job.catalog.functions if function in entries or needs_kernels(function, job.rules)]


def _report(function: NativeFunction, backend: ExternalBackend, facts: TrapFacts, sink: Diagnostics) -> None:
    dense = backend.section("supported")
    for trap in dispatch_traps(function, facts):
        span = trap.span or (None if dense is None else dense.span)
        sink.warning(_CODES[trap.kind], trap.message, span, help=trap.help)
