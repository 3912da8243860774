"""Checks that tensors are on one device, and guards that make it the current one."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from opwright.emit.aten.backend import Backend
from opwright.model.dispatch_key import COMPOSITE_EXPLICIT_NON_FUNCTIONAL, CUDA, MPS, MTIA, XPU, DispatchKey
from opwright.model.native_function import DeviceCheck, NativeFunction
from opwright.release.rules import Rules
from opwright.schema.function import Argument

_NO_CHECK: Final = "  // No device check"
_NO_GUARD: Final = "  // DeviceGuard omitted"
_COMMON_DEVICE: Final = """\
std::optional<Device> common_device = std::nullopt;
(void)common_device; // Suppress unused variable warning"""


def device_check(function: NativeFunction, wrapper: str) -> str:
    """The check that all tensors that are written or passed by position are on one device."""
    if function.device_check is DeviceCheck.NoCheck:
        return _NO_CHECK
    lines = [_COMMON_DEVICE]
    arguments = function.arguments
    for argument in arguments.out + arguments.positional:
        if argument.type.is_tensor_like:
            checked = f'common_device, {argument.name}, "{wrapper}", "{argument.name}"'
            lines.append(f"  c10::impl::check_and_update_common_device({checked});")
    return "\n".join(lines)


def device_lines(function: NativeFunction, wrapper: str, backend: Backend) -> str:
    """The check and the guard of a wrapper that calls a kernel."""
    if not backend.device_guard:
        return f"  {_NO_CHECK}\n{_NO_GUARD}"
    return f"  {device_check(function, wrapper)}\n{_guard(function, backend)}"


def _guard(function: NativeFunction, backend: Backend) -> str:
    """The guard: of the device that the options ask for, else of the first tensor, `self` and outs before others."""
    if not function.device_guard:
        return _NO_GUARD
    arguments = function.arguments
    if arguments.options is not None:
        guard = "  const DeviceGuard device_guard(device_or_default(device));"
        if backend.key.family == "cuda":
            return f"  globalContext().lazyInitDevice(c10::DeviceType::CUDA);\n{guard}"
        return guard
    first = (arguments.self_arg,) if arguments.self_arg is not None else ()
    guarded = _first_tensor((*first, *arguments.out, *arguments.positional))
    if guarded is None:
        return _NO_GUARD
    return f"  const OptionalDeviceGuard device_guard(device_of({guarded.name}));"


def _first_tensor(arguments: Iterable[Argument]) -> Argument | None:
    return next((argument for argument in arguments if argument.type.is_tensor_like), None)


#: The keys whose structured kernels hold a guard of the device of their outputs.
_HOLDS_GUARD: Final = (CUDA, MPS, XPU, MTIA, COMPOSITE_EXPLICIT_NON_FUNCTIONAL)


def held_guard(key: DispatchKey, *, rocm: bool, rules: Rules) -> str:
    """The type of the guard that a structured kernel's class has as a field; empty where it has none."""
    if key not in _HOLDS_GUARD:
        return ""
    if key is not CUDA:
        return "c10::OptionalDeviceGuard"
    if rocm and not rules.plain_hip_guards:
        return "c10::hip::OptionalHIPGuardMasqueradingAsCUDA"
    return "c10::cuda::OptionalCUDAGuard"


def moves_guard(key: DispatchKey) -> bool:
    """Whether setting an output moves the guard to the output's device; MTIA holds one that stays where it is."""
    return key in _HOLDS_GUARD and key is not MTIA
