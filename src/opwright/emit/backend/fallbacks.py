"""Registrations of the CPU's kernels for operators without a kernel of the backend."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from opwright.emit.aten.register.hooks import FALLBACK_FUNCTION
from opwright.emit.backend.section_file import SectionFile
from opwright.emit.registrations import Registration
from opwright.model.dispatch_key import CPU
from opwright.model.external_backend import Implementation

__all__ = ["FALLBACK_HEADER", "calls_fallback", "fallback_function", "fallback_registrations"]

#: The header that declares the function that runs the CPU's kernels.
FALLBACK_HEADER: Final = "ATen/native/CPUFallback.h"

_BOXED: Final = f"torch::CppFunction::makeFromBoxedFunction<&{FALLBACK_FUNCTION}>()"


def calls_fallback(file: SectionFile) -> bool:
    """Whether the file runs kernels of the CPU."""
    entries = [entry.options for entry in file.section.entries]
    return file.has_fallback or any(
        options.cpu_on_error or options.implementation is Implementation.fallback for options in entries
    )


def fallback_function(file: SectionFile) -> str:
    """The boxed function that runs the CPU's kernel of an operator on copies of the tensors.

    Unless the backend's file says otherwise, it refuses views: their results would not share memory.
    """
    refuses = "false" if file.backend.options.fallback_copies_views else "true"
    device, key = file.backend.key.name, file.section.key.name
    own_key = "" if key == device else f", c10::DispatchKey::{key.removesuffix(device)}{CPU.name}"
    return (
        f"\nvoid {FALLBACK_FUNCTION}(const c10::OperatorHandle& op, torch::jit::Stack* stack) {{\n"
        f"  at::native::cpu_fallback(op, stack, /*error_on_views=*/{refuses}{own_key});\n"
        "}\n"
    )


def fallback_registrations(file: SectionFile) -> Iterator[Registration]:
    """The registrations of the operators that fall back, and of the fallback of all others."""
    key = file.section.key.name
    for entry in file.section.entries:
        if entry.options.implementation is Implementation.fallback:
            function = entry.function
            yield Registration(function.namespace, key, function.name.text, _BOXED, entry.options.register_if)
    if file.has_fallback:
        yield Registration("_", key, "", _BOXED)
