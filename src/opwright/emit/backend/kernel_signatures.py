"""The signatures of a backend's kernels, which follow the dispatcher's convention or that of a plug-in."""

from __future__ import annotations

from typing import TYPE_CHECKING

from opwright.cpp.signature import Signature
from opwright.emit.aten.backend import kernel_signature
from opwright.emit.emitter import Job, per_job
from opwright.model.external_backend import BackendEntry, ExternalBackend
from opwright.model.native_function import NativeFunction
from opwright.source.codes import UNKNOWN_CONVENTION
from opwright.source.diagnostic import Diagnostics, Fault, did_you_mean
from opwright.source.span import Span

if TYPE_CHECKING:
    from opwright.emit.backend_extensions import KernelConvention
    from opwright.emit.extensions import Extension

__all__ = ["check_conventions", "convention_headers", "convention_named", "signature_of"]


def signature_of(entry: BackendEntry, job: Job) -> Signature:
    """The signature of the kernel of an entry. Raises Fault if a plug-in cannot give it."""
    if not entry.options.convention:
        return kernel_signature(entry.function, entry.kernel, external=True)
    return _signature(job, entry.options.convention, entry.function)


@per_job
def _signature(job: Job, name: str, function: NativeFunction) -> Signature:
    convention = convention_named(name, job)
    if convention is None:
        raise _unknown(name, job, function.entry)
    return convention.value.signature(function)


def convention_named(name: str, job: Job) -> Extension[KernelConvention] | None:
    """The convention of that name, None if no plug-in has it."""
    return next((extension for extension in job.extensions.kernel_conventions if extension.value.name == name), None)


def _unknown(name: str, job: Job, at: Span) -> Fault:
    # Only a run with this fault needs it.

    names = [extension.value.name for extension in job.extensions.kernel_conventions]
    help = did_you_mean(name, names, "name a plug-in that has it")
    return Fault.at(UNKNOWN_CONVENTION, f"no plug-in of the run has a convention `{name}`", at, help=help)


def check_conventions(job: Job, sink: Diagnostics) -> None:
    """Report conventions that files name and no plug-in has."""
    for backend in job.backends:
        for name, span in backend.conventions:
            if convention_named(name, job) is None:
                sink.add(_unknown(name, job, span).diagnostic)


def convention_headers(backend: ExternalBackend, job: Job) -> list[str]:
    """The headers that declare the types of a backend's conventions."""
    conventions = [convention_named(name, job) for name, _ in backend.conventions]
    headers = [header for convention in conventions if convention is not None for header in convention.value.includes]
    return list(dict.fromkeys(headers))
