"""Comparison of the kernels that an author's headers declare with the types that their schemas need."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from opwright.cpp.namespaces import enclose
from opwright.emit.aten.backend import kernel_signature
from opwright.emit.emitter import FragmentContext
from opwright.emit.library.generated_kernels import generated_kernel
from opwright.emit.library.parts import LibraryPart
from opwright.emit.library.section import Section
from opwright.model.native_function import Kernel, NativeFunction

__all__ = ["author_kernels", "checked_kernels", "section"]


class _CheckedKernel(NamedTuple):
    """A kernel: its name, with namespaces, and its type."""

    function: str
    type: str


def author_kernels(part: LibraryPart) -> Iterator[tuple[NativeFunction, Kernel]]:
    """The kernels that the author writes as functions, each with its overload."""
    for function in part.functions:
        if function.manual_kernel_registration or generated_kernel(function) is not None:
            continue
        for kernel in function.kernels.values():
            if not kernel.structured:
                yield function, kernel


def checked_kernels(part: LibraryPart) -> Mapping[tuple[NativeFunction, Kernel], str]:
    """The object that stands for each kernel; empty if generated code declares the kernels."""
    if not part.includes:
        return {}
    names = {kernel: name for name, (kernel, _) in _objects(part).items()}
    return {
        (function, kernel): f"{part.library.api}::kernels::{names[_kernel_type(function, kernel)]}"
        for function, kernel in author_kernels(part)
    }


def _kernel_type(function: NativeFunction, kernel: Kernel) -> _CheckedKernel:
    return _CheckedKernel(f"{kernel.namespace}::{kernel.name}", kernel_signature(function, kernel).type)


def _objects(part: LibraryPart) -> dict[str, tuple[_CheckedKernel, NativeFunction]]:
    """The kernels by the names of their objects, each with the first operator that uses it."""
    objects: dict[str, tuple[_CheckedKernel, NativeFunction]] = {}
    seen: set[_CheckedKernel] = set()
    for function, kernel in author_kernels(part):
        checked = _kernel_type(function, kernel)
        if checked in seen:
            continue
        seen.add(checked)
        name, number = kernel.name, 1
        while name in objects:
            number += 1
            name = f"{kernel.name}_{number}"
        objects[name] = checked, function
    return objects


def section(part: LibraryPart, context: FragmentContext) -> Section:
    """An object for each kernel. It exists whatever the headers declare, so a mistake is one error of the compiler."""
    objects = _objects(part) if part.includes else {}
    if not objects:
        return Section()
    library = part.library
    names = dict.fromkeys([kernel.name for _, kernel in author_kernels(part)])
    absent = ", ".join([f"{name}{{}}" for name in names])
    namespaces = dict.fromkeys([kernel.namespace for _, kernel in author_kernels(part)])
    lines = [
        enclose(f"{library.api}::absent_kernels", f"inline constexpr ::opwright::no_kernel {absent};"),
        *[f"namespace {namespace} {{ using namespace ::{library.api}::absent_kernels; }}" for namespace in namespaces],
    ]
    checks = []
    for name, (kernel, function) in objects.items():
        operator = f"{library.operators}::{function.name.unambiguous}"
        checks.append(f"OPWRIGHT_KERNEL({name}, ::{kernel.function}, {operator}, {kernel.type});")
    body = "\n".join(["namespace {", *checks, "} // namespace"])
    return Section(("opwright/kernel_check.h",), "\n".join([*lines, enclose(f"{library.api}::kernels", body)]) + "\n")
