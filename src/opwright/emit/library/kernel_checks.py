"""Comparison of the kernels that an author's headers declare with the types that their schemas need."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from opwright.emit.aten.backend import kernel_signature
from opwright.emit.checked_kernels import CHECK_HEADER, CheckedKernel, checks_text, named_kernels
from opwright.emit.emitter import FragmentContext
from opwright.emit.library.generated_kernels import has_generated_kernel
from opwright.emit.library.parts import LibraryPart
from opwright.emit.library.section import Section
from opwright.model.native_function import Kernel, NativeFunction

__all__ = ["author_kernels", "checked_kernels", "section"]


def author_kernels(part: LibraryPart) -> Iterator[tuple[NativeFunction, Kernel]]:
    """The kernels that the author writes as functions, each with its overload."""
    for function in part.functions:
        if function.manual_kernel_registration or has_generated_kernel(function):
            continue
        for chosen in function.kernels.values():
            for kernel in chosen.written:
                if not kernel.structured:
                    yield function, kernel


def checked_kernels(part: LibraryPart) -> Mapping[tuple[NativeFunction, Kernel], str]:
    """The object that stands for each kernel; empty if generated code declares the kernels."""
    if not part.includes or part.has_own_signatures:
        return {}
    names = {kernel: name for name, (kernel, _) in _objects(part).items()}
    return {
        (function, kernel): f"{part.library.api}::kernels::{names[_kernel_type(function, kernel)]}"
        for function, kernel in author_kernels(part)
    }


def _kernel_type(function: NativeFunction, kernel: Kernel) -> CheckedKernel:
    return CheckedKernel(kernel.namespace, kernel.name, kernel_signature(function, kernel).type, kernel.condition)


def _objects(part: LibraryPart) -> dict[str, tuple[CheckedKernel, str]]:
    """The kernels by the names of their objects, each with the class of the first operator that uses it."""
    return named_kernels(
        (_kernel_type(function, kernel), f"{part.library.operators}::{function.name.unambiguous}")
        for function, kernel in author_kernels(part)
    )


def section(part: LibraryPart, context: FragmentContext) -> Section:
    """An object for each kernel."""
    objects = _objects(part) if part.includes and not part.has_own_signatures else {}
    return Section((CHECK_HEADER,), checks_text(objects, part.library.api)) if objects else Section()
