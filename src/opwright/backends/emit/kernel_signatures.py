"""Signatures of a backend's kernels, and their comparison with what an author's headers declare."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from opwright.backends.backend_codes import UNKNOWN_CONVENTION
from opwright.backends.extensions import EmitExtensions, Extension, KernelConvention
from opwright.backends.external_backend import BackendEntry, BackendSection, ExternalBackend, RunBackends
from opwright.backends.hook_statements import operator_class
from opwright.backends.hooks import Implementation
from opwright.cpp.signature import Signature
from opwright.cpp.text import include_line
from opwright.emit.aten.backend import kernel_signature
from opwright.emit.checks import CHECK_HEADER, CheckedKernel, checks_text, named_kernels
from opwright.emit.emitter import Job, per_job
from opwright.model.native_function import NativeFunction
from opwright.source.diagnostic import Diagnostics, Fault, did_you_mean
from opwright.source.span import Span


def signature_of(entry: BackendEntry, job: Job) -> Signature:
    """Signature of the kernel of an entry. Raises Fault if a plug-in cannot give it."""
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
    """Convention of that name, None if no plug-in has it."""
    return next(
        (extension for extension in job.of(EmitExtensions).kernel_conventions if extension.value.name == name), None
    )


def _unknown(name: str, job: Job, at: Span) -> Fault:
    names = [extension.value.name for extension in job.of(EmitExtensions).kernel_conventions]
    help = did_you_mean(name, names, "name a plug-in that has it")
    return Fault.at(UNKNOWN_CONVENTION, f"no plug-in of the run has a convention `{name}`", at, help=help)


def check_conventions(job: Job, sink: Diagnostics) -> None:
    """Report conventions that files name and no plug-in has."""
    for backend in job.of(RunBackends).backends:
        for name, span in backend.conventions:
            if convention_named(name, job) is None:
                sink.add(_unknown(name, job, span).diagnostic)


def convention_headers(backend: ExternalBackend, job: Job) -> list[str]:
    """Headers that declare the types of a backend's conventions."""
    conventions = [convention_named(name, job) for name, _ in backend.conventions]
    headers = [header for convention in conventions if convention is not None for header in convention.value.includes]
    return list(dict.fromkeys(headers))


def free_kernels(section: BackendSection) -> Iterator[tuple[BackendEntry, CheckedKernel]]:
    """The author's kernels that are functions in namespaces instead of members of a class."""
    for entry in section.entries:
        for variant in entry.variants:
            namespace, _, name = variant.options.callee.rpartition("::")
            if namespace and variant.options.implementation is Implementation.kernel:
                type = kernel_signature(variant.function, variant.kernel, external=True).type
                yield variant, CheckedKernel(namespace, name, type)


def checked_kernels(backend: ExternalBackend, section: BackendSection) -> Mapping[tuple[NativeFunction, str], str]:
    """Object that stands for each kernel, by function and name; empty if generated code declares the kernels."""
    names = {kernel: name for name, (kernel, _) in _objects(backend, section).items()}
    return {
        (entry.function, entry.options.callee): f"{_scope(backend, section)}::kernels::{names[kernel]}"
        for entry, kernel in free_kernels(section)
        if kernel in names and not entry.options.convention
    }


def _objects(backend: ExternalBackend, section: BackendSection) -> dict[str, tuple[CheckedKernel, str]]:
    """Kernels by the names of their objects, each with the class of the first operator that uses it.

    Kernels with a convention of a plug-in do not have the types of their operators.
    """
    kernels = free_kernels(section) if backend.options.includes else ()
    return named_kernels(
        (kernel, operator_class(entry.function)) for entry, kernel in kernels if not entry.options.convention
    )


def _scope(backend: ExternalBackend, section: BackendSection) -> str:
    return f"{backend.cpp_namespace}::checked_{section.key.lower}"


def checks(backend: ExternalBackend, section: BackendSection) -> list[str]:
    """Include and the text of the checks of a section; empty if it has none."""
    objects = _objects(backend, section)
    return [f"{include_line(CHECK_HEADER)}\n", checks_text(objects, _scope(backend, section))] if objects else []
