"""Registrations of what runs for operators without a kernel of the backend, and under its Autocast key."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Final

from opwright.backends import backend_codes
from opwright.backends.emit.section_file import SectionFile
from opwright.backends.extensions import Registration
from opwright.backends.external_backend import BackendEntry
from opwright.backends.hook_statements import FALLBACK_FUNCTION, operator_class
from opwright.backends.hooks import Implementation
from opwright.backends.operator_names import STAND_INS, UNDECLARED_WRITES
from opwright.convention import dispatcher
from opwright.cpp.text import string_literal
from opwright.emit.autocast import APPEND_DTYPE, policy_kernel
from opwright.emit.emitter import Job
from opwright.model.dispatch_key import CPU, LIBRARY_KEYS, key_named
from opwright.model.library import PYTORCH
from opwright.model.native_function import DeviceCheck, NativeFunction
from opwright.release.rules import Rules
from opwright.schema.function import Argument
from opwright.source.diagnostic import Fault

#: The header that declares the function that runs the CPU's kernels.
_PYTORCH_HEADER: Final = "ATen/native/CPUFallback.h"

#: The headers with what else the fallback of a backend needs: the function's helpers, and operators made of others.
_OWN_HEADER: Final = "opwright/fallback.h"
_STAND_INS_HEADER: Final = "opwright/stand_ins.h"

_BOXED: Final = f"torch::CppFunction::makeFromBoxedFunction<&{FALLBACK_FUNCTION}>()"
_REFUSE: Final = "torch::CppFunction::makeFromBoxedFunction<&::opwright::refuse>()"
_FALLTHROUGH: Final = "torch::CppFunction::makeFallthrough()"


def calls_fallback(file: SectionFile) -> bool:
    """Whether the file runs kernels of the CPU."""
    return file.has_fallback or any(map(_may_fall_back, file.section.entries))


def _may_fall_back(entry: BackendEntry) -> bool:
    """Whether the CPU's kernel of an operator runs, always or after an error."""
    return entry.options.cpu_on_error or entry.options.implementation is Implementation.fallback


def fallback_headers(file: SectionFile) -> list[str]:
    """Headers that the fallback of a file needs, and the operators that it refuses."""
    if calls_fallback(file):
        return [_PYTORCH_HEADER, _OWN_HEADER, *([_STAND_INS_HEADER] if file.section.name == "supported" else [])]
    has_refused = any(entry.options.implementation is Implementation.refused for entry in file.section.entries)
    return [_OWN_HEADER] if has_refused else []


def fallback_function(file: SectionFile, job: Job) -> str:
    """Boxed function that runs the CPU's kernel of an operator on copies of the tensors.

    Unless the backend's file says otherwise, it refuses views: their results would not share memory.
    """
    options = file.backend.options
    device, layout = file.backend.key.name, file.section.key.name.removesuffix(file.backend.key.name)
    place = f"`{os.path.basename(file.backend.path)}`"
    place = string_literal(place if file.section.name == "supported" else f"`{file.section.name}` of {place}")
    cpu_key = f"c10::DispatchKey::{layout}{CPU.name}"
    lines = []
    if options.device_check is not False:
        names = [f"    {string_literal(name)}," for name in _taking_numbers(file, job)]
        lines += ["static const std::unordered_set<std::string> taking_numbers{", *names, "};"]
        lines.append("::opwright::check_devices(op, stack, taking_numbers);")
    if file.section.key.name == device:
        lines.append("::opwright::check_lists(op, stack);")
    has_stand_ins = bool(_stand_ins(file, job.rules))
    called = "::opwright::cpu_operator(op, stack)" if has_stand_ins else "op"
    lines.append(f"const auto called = {called};")
    lines.append(f"::opwright::check_cpu_kernel(called, {cpu_key}, {string_literal(layout)}, {place});")
    if options.fallback_warns:
        lines.append(f"::opwright::warn_of_fallback(op, {place});")
    lines += _call(file, job.rules, cpu_key)
    head = f"\nvoid {FALLBACK_FUNCTION}(const c10::OperatorHandle& op, torch::jit::Stack* stack) {{\n"
    return head + "".join([f"  {line}\n" for line in lines]) + "}\n"


def _call(file: SectionFile, rules: Rules, cpu_key: str) -> Iterator[str]:
    """Statements that call PyTorch's function, with generators and with copies of what operators write undeclared."""
    options = file.backend.options
    refuses = "false" if options.fallback_copies_views else "true"
    own_key = "" if file.section.key.name == file.backend.key.name else f", {cpu_key}"
    call = f"at::native::cpu_fallback(called, stack, /*error_on_views=*/{refuses}{own_key});"
    writes = _undeclared_writes(file, rules)
    if writes:
        yield from ("static const ::opwright::UndeclaredWrites writes{", *[f"    {row}," for row in writes], "};")
        call = f"::opwright::with_undeclared_writes(op, stack, writes, [&] {{ {call} }});"
    if options.fallback_generator:
        call = f"::opwright::with_generators(op, stack, &::{options.fallback_generator}, [&] {{ {call} }});"
    yield call


def _taking_numbers(file: SectionFile, job: Job) -> list[str]:
    """Operators that may fall back, and take numbers on the CPU beside tensors of a device, as PyTorch's kernels do.

    These check devices themselves, so that PyTorch's entries for them have no check.
    """
    cpu_key = key_named(f"{file.section.key.name.removesuffix(file.backend.key.name)}{CPU.name}")
    return [
        function.name.text
        for function in job.catalog.functions
        if function.device_check is DeviceCheck.NoCheck
        and function.namespace == PYTORCH.namespace
        and cpu_key in function.kernels
        and len([argument for argument in function.arguments.positional if argument.type.is_tensor_like]) > 1
    ]


def fallback_registrations(file: SectionFile, rules: Rules) -> Iterator[Registration]:
    """Registrations of the operators that fall back or are refused, and of the fallback of all others."""
    key = file.section.key.name
    stand_ins = _stand_ins(file, rules)
    for entry in file.section.entries:
        function, implementation = entry.function, entry.options.implementation
        name = function.name.text
        if implementation in (Implementation.fallback, Implementation.refused):
            is_refused = implementation is Implementation.refused
            kernel = _REFUSE if is_refused else _stand_in(stand_ins.get(name, FALLBACK_FUNCTION))
            yield Registration(function.namespace, key, name, kernel, entry.options.register_if)
    if file.has_fallback:
        listed = [*[entry.function for entry in file.section.entries], *file.backend.options.manual]
        owned = {function.name.text for function in listed if function.namespace == PYTORCH.namespace}
        for name, stand_in in stand_ins.items():
            if name not in owned:
                yield Registration(PYTORCH.namespace, key, name, _stand_in(stand_in))
        yield Registration("_", key, "", _BOXED)


def autocast_fallthrough(file: SectionFile) -> Iterator[Registration]:
    """Registration that lets operators pass through the Autocast key of a backend without policies.

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
    """Functions that take the place of kernels that the CPU does not have, by the names of the operators."""
    return _of_fallback(STAND_INS.in_release(rules), file)


def _of_fallback(texts: Mapping[str, str], file: SectionFile) -> Mapping[str, str]:
    """The texts of PyTorch's operators on dense tensors that fall back, or do so after an error."""
    if file.section.name != "supported":
        return {}
    if file.has_fallback:
        return texts
    fallen = {
        entry.function.name.text
        for entry in file.section.entries
        if entry.function.namespace == PYTORCH.namespace and _may_fall_back(entry)
    }
    return {name: text for name, text in texts.items() if name in fallen}


def _undeclared_writes(file: SectionFile, rules: Rules) -> list[str]:
    """Rows of the operators that fall back and write to arguments that their schemas do not name, in C++."""
    names = _of_fallback(UNDECLARED_WRITES.in_release(rules), file)
    rows = {f"aten::{name}": ", ".join(map(string_literal, text.split())) for name, text in names.items()}
    return [f"{{{string_literal(name)}, {{{arguments}}}}}" for name, arguments in rows.items()]


def autocast_registrations(file: SectionFile, job: Job) -> Iterator[Registration]:
    """Registrations of the policies of a file for the Autocast key; none for other files.

    PyTorch lets operators without a kernel pass only for the Autocast keys of its own devices.
    """
    if not file.is_autocast:
        return
    key = file.section.key.name
    for entry in file.section.entries:
        if entry.options.policy:
            function, policy = entry.function, entry.options.policy
            called = function if policy != APPEND_DTYPE else _overload_with_dtype(entry, job)
            callee = f"::{operator_class(called)}::call"
            kernel = policy_kernel(policy, file.backend.key.name, callee, dispatcher.signature(function).type)
            yield Registration(function.namespace, key, function.name.text, kernel, entry.options.register_if)
    yield Registration("_", key, "", _FALLTHROUGH)


def _overload_with_dtype(entry: BackendEntry, job: Job) -> NativeFunction:
    """Overload that takes the arguments of an operator and a dtype after them. Raises Fault if there is none."""
    function = entry.function
    for overload in job.by_root.get(function.root_name, ()):
        types = [_type(argument) for argument in overload.arguments.all]
        if types == [*map(_type, function.arguments.all), "ScalarType"]:
            return overload
    message = f"`{function.name}` has no overload that takes a dtype after its arguments"
    raise Fault.at(backend_codes.NO_DTYPE_OVERLOAD, message, entry.span, help="choose another policy")


def _type(argument: Argument) -> str:
    """Type of an argument, whether it is optional or not: C++ makes an optional one of any value."""
    return argument.type.text.removesuffix("?")
