"""Comparison of the kernels in namespaces, which an author's headers declare, with the types of their operators."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from opwright.emit.aten.backend import kernel_signature
from opwright.emit.aten.register.hooks import operator_class
from opwright.emit.checked_kernels import CHECK_HEADER, CheckedKernel, checks_text, named_kernels
from opwright.model.external_backend import BackendEntry, BackendSection, ExternalBackend, Implementation
from opwright.model.native_function import NativeFunction
from opwright.syntax.cpp import include_line

__all__ = ["checked_kernels", "checks", "free_kernels"]


def free_kernels(section: BackendSection) -> Iterator[tuple[BackendEntry, CheckedKernel]]:
    """The author's kernels that are functions in namespaces instead of members of a class."""
    for entry in section.entries:
        for variant in entry.variants:
            callee, is_kernel = variant.options.callee, variant.options.implementation is Implementation.kernel
            namespace, _, name = callee.rpartition("::")
            if namespace and is_kernel:
                type = kernel_signature(variant.function, variant.kernel, external=True).type
                yield variant, CheckedKernel(namespace, name, type)


def checked_kernels(backend: ExternalBackend, section: BackendSection) -> Mapping[tuple[NativeFunction, str], str]:
    """The object that stands for each kernel, by function and name; empty if generated code declares the kernels."""
    names = {kernel: name for name, (kernel, _) in _objects(backend, section).items()}
    return {
        (entry.function, entry.options.callee): f"{_scope(backend, section)}::kernels::{names[kernel]}"
        for entry, kernel in free_kernels(section)
        if kernel in names and not entry.options.convention
    }


def _objects(backend: ExternalBackend, section: BackendSection) -> dict[str, tuple[CheckedKernel, str]]:
    """The kernels by the names of their objects, each with the class of the first operator that uses it.

    Kernels with a convention of a plug-in do not have the types of their operators.
    """
    kernels = free_kernels(section) if backend.options.includes else ()
    return named_kernels(
        (kernel, operator_class(entry.function)) for entry, kernel in kernels if not entry.options.convention
    )


def _scope(backend: ExternalBackend, section: BackendSection) -> str:
    """The namespace around the objects of a section."""
    return f"{backend.cpp_namespace}::checked_{section.key.lower}"


def checks(backend: ExternalBackend, section: BackendSection) -> list[str]:
    """The include and the text of the checks of a section; empty if it has none."""
    objects = _objects(backend, section)
    return [f"{include_line(CHECK_HEADER)}\n", checks_text(objects, _scope(backend, section))] if objects else []
