"""Checks that tensors are on one device, and guards that make it the current one."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from opwright.cpp.text import include_line
from opwright.emit.aten.backend import Backend
from opwright.model.dispatch_key import DispatchKey
from opwright.model.native_function import NativeFunction
from opwright.release.rules import Rules
from opwright.schema.function import Argument
from opwright.schema.types import ListType, OptionalType

NO_CHECK: Final = "  // No device check"
_NO_GUARD: Final = "  // DeviceGuard omitted"
_COMMON_DEVICE: Final = """\
std::optional<Device> common_device = std::nullopt;
(void)common_device; // Suppress unused variable warning"""


def device_check(function: NativeFunction, wrapper: str, backend: Backend) -> str:
    """Check that all written tensors and all positional tensors are on one device."""
    return _check_text(function, wrapper) if backend.device_handling(function).check else NO_CHECK


def _check_text(function: NativeFunction, wrapper: str) -> str:
    arguments = function.arguments.out + function.arguments.positional
    return check_of([argument for argument in arguments if _has_device(argument, function)], wrapper)


def check_of(arguments: Iterable[Argument], wrapper: str) -> str:
    """Check that arguments are on one device, in a wrapper of that name."""
    lines = [_COMMON_DEVICE]
    for argument in arguments:
        checked = f'common_device, {argument.name}, "{wrapper}", "{argument.name}"'
        lines.append(f"  c10::impl::check_and_update_common_device({checked});")
    return "\n".join(lines)


def _has_device(argument: Argument, function: NativeFunction) -> bool:
    """Whether ATen gives the device of an argument: not of lists in lists, nor of lists that may be absent."""
    if not argument.type.is_tensor_like:
        return False
    type = argument.type.elem if isinstance(argument.type, ListType | OptionalType) else argument.type
    return not function.library.takes_any_schema or not isinstance(type, ListType)


def device_lines(function: NativeFunction, wrapper: str, backend: Backend) -> str:
    """Check, the initialization of the device, and the guard of a wrapper that calls a kernel."""
    handling = backend.device_handling(function)
    check = _check_text(function, wrapper) if handling.check else NO_CHECK
    guard = _guard(function, backend) if handling.guard else _NO_GUARD
    if backend.initialization and function.arguments.options is not None:
        guard = f"  {backend.initialization}\n{guard}"
    return f"  {check}\n{guard}"


def _guard(function: NativeFunction, backend: Backend) -> str:
    """Guard of the device of the tensor options, otherwise of `self`, of an out, or of the first tensor."""
    arguments = function.arguments
    declared = backend.guard_of_wrappers
    if arguments.options is not None:
        guard = f"  const {declared or 'DeviceGuard'} device_guard(device_or_default(device));"
        device = backend.key.device
        if device is not None and device.is_initialized_lazily:
            return f"  globalContext().lazyInitDevice(c10::DeviceType::{device.name});\n{guard}"
        return guard
    first = (arguments.self_arg,) if arguments.self_arg is not None else ()
    candidates = (*first, *arguments.out, *arguments.positional)
    guarded = next((argument for argument in candidates if _has_device(argument, function)), None)
    if guarded is None:
        return _NO_GUARD
    return f"  const {declared or 'OptionalDeviceGuard'} device_guard(device_of({guarded.name}));"


_FACTORY_GUARD: Final = "\n  const DeviceGuard device_guard("


#: The initialization of a device; older releases have a function for each.
_INITIALIZATION: Final = re.compile(r"lazyInitDevice\(c10::DeviceType::(\w+)\)")


def laid_out_wrapper(definition: str, rules: Rules) -> str:
    """A wrapper as a release lays it out: some leave blanks where it initializes no device."""
    if rules.templates_strip_lines:
        return definition
    if "lazyInitDevice" in definition:
        by_type = rules.devices_initialized_by_type
        return definition if by_type else _INITIALIZATION.sub(r"lazyInit\1()", definition)
    return definition.replace(_FACTORY_GUARD, f"\n  {_FACTORY_GUARD}")


#: The names of HIP's guard and its header in releases in which HIP masquerades as CUDA.
_MASQUERADING: Final = {
    "c10::cuda::OptionalCUDAGuard": "c10::hip::OptionalHIPGuardMasqueradingAsCUDA",
    "c10/cuda/CUDAGuard.h": "ATen/hip/impl/HIPGuardImplMasqueradingAsCUDA.h",
}


def structured_guard(backend: Backend, *, rocm: bool, rules: Rules) -> str:
    """Type of the guard that a structured kernel's class has as a field; empty if it has none."""
    guard = backend.structured_guard
    return _MASQUERADING.get(guard, guard) if rocm and not rules.plain_hip_guards else guard


def guard_headers(key: DispatchKey, *, rocm: bool, rules: Rules) -> str:
    """Includes for device guards."""
    paths: Iterable[str] = key.guard_headers
    if rocm:
        masquerading = {} if rules.plain_hip_guards else _MASQUERADING
        paths = [masquerading.get(path) or hip_path(path) for path in paths]
    return "\n".join(map(include_line, paths))


def hip_path(path: str) -> str:
    """Header that replaces a CUDA header in ROCm builds.

    >>> hip_path("ATen/cuda/CUDAContext.h"), hip_path("ATen/mps/EmptyTensor.h")
    ('ATen/hip/HIPContext.h', 'ATen/mps/EmptyTensor.h')
    """
    return path.replace("cuda", "hip").replace("CUDA", "HIP")
