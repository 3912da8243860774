"""Registrations of what runs for operators without a kernel of the backend: the CPU's kernels, or an error."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Final

from opwright.emit.aten.register.hooks import FALLBACK_FUNCTION
from opwright.emit.backend.section_file import SectionFile
from opwright.emit.registrations import Registration
from opwright.model.dispatch_key import CPU, LIBRARY_KEYS
from opwright.model.external_backend import Implementation
from opwright.model.library import PYTORCH
from opwright.release.operator_names.backends import STAND_INS
from opwright.release.rules import Rules
from opwright.syntax.cpp import string_literal

__all__ = ["autocast_fallthrough", "calls_fallback", "fallback_function", "fallback_headers", "fallback_registrations"]

#: The header that declares the function that runs the CPU's kernels.
_PYTORCH_HEADER: Final = "ATen/native/CPUFallback.h"

#: The header with what else the fallback of a backend needs.
_OWN_HEADER: Final = "opwright/fallback.h"

_BOXED: Final = f"torch::CppFunction::makeFromBoxedFunction<&{FALLBACK_FUNCTION}>()"
_REFUSE: Final = "torch::CppFunction::makeFromBoxedFunction<&::opwright::refuse>()"
_FALLTHROUGH: Final = "torch::CppFunction::makeFallthrough()"


def calls_fallback(file: SectionFile) -> bool:
    """Whether the file runs kernels of the CPU."""
    entries = [entry.options for entry in file.section.entries]
    return file.has_fallback or any(
        options.cpu_on_error or options.implementation is Implementation.fallback for options in entries
    )


def fallback_headers(file: SectionFile, rules: Rules) -> list[str]:
    """The headers that the fallback of a file needs, and the operators that it refuses."""
    options = file.backend.options
    has_refused = any(entry.options.implementation is Implementation.refused for entry in file.section.entries)
    is_extended = options.fallback_warns or options.fallback_generator or _stand_ins(file, rules)
    headers = [_PYTORCH_HEADER] if calls_fallback(file) else []
    return [*headers, _OWN_HEADER] if has_refused or (headers and is_extended) else headers


def fallback_function(file: SectionFile, rules: Rules) -> str:
    """The boxed function that runs the CPU's kernel of an operator on copies of the tensors.

    Unless the backend's file says otherwise, it refuses views: their results would not share memory.
    """
    options = file.backend.options
    refuses = "false" if options.fallback_copies_views else "true"
    device, key = file.backend.key.name, file.section.key.name
    own_key = "" if key == device else f", c10::DispatchKey::{key.removesuffix(device)}{CPU.name}"
    lines = []
    if options.fallback_warns:
        lines.append(f"::opwright::warn_of_fallback(op, {string_literal(os.path.basename(file.backend.path))});")
    if options.fallback_generator:
        lines.append(f"::opwright::replace_generators(op, stack, &::{options.fallback_generator});")
    called = "::opwright::cpu_operator(op, stack)" if _stand_ins(file, rules) else "op"
    lines.append(f"at::native::cpu_fallback({called}, stack, /*error_on_views=*/{refuses}{own_key});")
    head = f"\nvoid {FALLBACK_FUNCTION}(const c10::OperatorHandle& op, torch::jit::Stack* stack) {{\n"
    return head + "".join([f"  {line}\n" for line in lines]) + "}\n"


def fallback_registrations(file: SectionFile, rules: Rules) -> Iterator[Registration]:
    """The registrations of the operators that fall back or are refused, and of the fallback of all others."""
    key = file.section.key.name
    stand_ins = _stand_ins(file, rules)
    for entry in file.section.entries:
        function, implementation = entry.function, entry.options.implementation
        name = function.name.text
        if implementation is Implementation.fallback:
            kernel = _stand_in(stand_ins.get(name, FALLBACK_FUNCTION))
            yield Registration(function.namespace, key, name, kernel, entry.options.register_if)
        elif implementation is Implementation.refused:
            yield Registration(function.namespace, key, name, _REFUSE, entry.options.register_if)
    if file.has_fallback:
        own = [*[entry.function for entry in file.section.entries], *file.backend.options.manual]
        owned = {function.name.text for function in own if function.namespace == PYTORCH.namespace}
        for name, stand_in in stand_ins.items():
            if name not in owned:
                yield Registration(PYTORCH.namespace, key, name, _stand_in(stand_in))
        yield Registration("_", key, "", _BOXED)


def autocast_fallthrough(file: SectionFile) -> Iterator[Registration]:
    """The registration that lets operators pass through the Autocast key of a backend without policies.

    PyTorch has one only for the Autocast keys of its own devices, and calls a device's with any `torch.autocast`.
    """
    backend = file.backend
    key = LIBRARY_KEYS.get(f"Autocast{backend.key.name}")
    has_policies = backend.section("autocast") is not None
    is_wanted = backend.options.derives_from_out and backend.options.autocast_fallthrough
    if file.section.name == "supported" and key is not None and is_wanted and not has_policies:
        yield Registration("_", key.name, "", _FALLTHROUGH)


def _stand_in(function: str) -> str:
    return _BOXED if function == FALLBACK_FUNCTION else f"TORCH_FN(::opwright::{function})"


def _stand_ins(file: SectionFile, rules: Rules) -> Mapping[str, str]:
    """The functions that take the place of kernels that the CPU does not have, by the names of the operators."""
    if file.section.name != "supported":
        return {}
    names = STAND_INS.in_release(rules)
    if file.has_fallback:
        return names
    fallen = {
        entry.function.name.text
        for entry in file.section.entries
        if entry.options.implementation is Implementation.fallback
    }
    return {name: function for name, function in names.items() if name in fallen}
