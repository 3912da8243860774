"""Kernels of operators with a policy under autocast, and their registration for each device."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

from opwright.convention import dispatcher
from opwright.emit.aten.backend import members
from opwright.emit.autocast import APPEND_DTYPE, AUTOCAST, AUTOCAST_HEADER, policy_kernel
from opwright.emit.emitter import FragmentContext
from opwright.libraries.emit.parts import LibraryPart, Section
from opwright.libraries.entry_fields import library_fields
from opwright.libraries.operator_library import overloads_with_dtype
from opwright.model.dispatch_key import LIBRARY_KEYS, Device
from opwright.model.native_function import NativeFunction
from opwright.source.records import NamedTuple


class DevicePolicy(NamedTuple):
    """Policy of an operator on a device, or those of its arguments, empty for one that stays as it is."""

    device: str
    policy: str
    by_argument: tuple[str, ...] = ()


def autocast_policies(function: NativeFunction) -> tuple[DevicePolicy, ...]:
    """Policies of an operator on each device, in the order of the dispatch keys.

    A policy without devices holds on those that the operator has kernels for, or on CPU and CUDA if it has none. A
    kernel that the author writes for an Autocast key takes the place of the policy.
    """
    everywhere, by_device, by_argument = library_fields(function).autocast
    if by_device:
        return tuple([DevicePolicy(*row) for row in by_device])
    if by_argument:
        named = dict(by_argument)
        policies = tuple([named.get(argument.name, "") for argument in function.schema.arguments.all])
        return tuple([DevicePolicy(device, "", policies) for device in _devices(function)])
    return tuple([DevicePolicy(device, everywhere) for device in _devices(function)]) if everywhere else ()


def _devices(function: NativeFunction) -> tuple[str, ...]:
    functions = [function] if function.group is None else function.group.functions()
    devices = [key.device for member in functions for key in member.kernels if key.device is not None]
    return _with_autocast(devices) or _usual_devices()


@cache
def _usual_devices() -> tuple[str, ...]:
    """Devices that every PyTorch has, for operators that have no kernels because they call other operators."""
    devices = [key.device for key in LIBRARY_KEYS.values() if key.device is not None]
    known_devices = [device for device in devices if device.is_known and device.has_autocast_fallback]
    return _with_autocast([device for device in known_devices if not device.flag])


def _with_autocast(devices: Iterable[Device]) -> tuple[str, ...]:
    """Names of those devices that have autocast."""
    names = dict.fromkeys([device.name for device in devices])
    return tuple([name for name in names if f"{AUTOCAST}{name}" in LIBRARY_KEYS])


def section(part: LibraryPart, context: FragmentContext) -> Section:
    """Registrations of every device."""
    lines: dict[str, list[str]] = {}
    for function in part.functions:
        if function.is_synthesized:
            continue
        for policy in autocast_policies(function):
            key = LIBRARY_KEYS[f"{AUTOCAST}{policy.device}"]
            if key not in function.kernels:
                lines.setdefault(policy.device, []).append(_registration(function, policy, part))
    texts = [_block(part.library.namespace, device, registrations) for device, registrations in lines.items()]
    return Section((AUTOCAST_HEADER,), "\n".join(texts))


def _block(namespace: str, device: str, registrations: Iterable[str]) -> str:
    """Registrations for a device.

    >>> print(_block("acme", "CPU", ['  m.impl("scale", &scale);']), end="")
    TORCH_LIBRARY_IMPL(acme, AutocastCPU, m) {
      m.impl("scale", &scale);
    }
    """
    body = "\n".join(registrations)
    return f"TORCH_LIBRARY_IMPL({namespace}, {AUTOCAST}{device}, m) {{\n{body}\n}}\n"


def _registration(function: NativeFunction, policy: DevicePolicy, part: LibraryPart) -> str:
    called = function
    if policy.policy == APPEND_DTYPE:
        called = next(overloads_with_dtype(function, [overload for unit in part.units for overload in members(unit)]))
    callee = f"::{part.library.operators}::{called.name.unambiguous}::call"
    type = dispatcher.signature(function).type
    kernel = policy_kernel(policy.policy, policy.device, callee, type, policy.by_argument)
    return f'  m.impl("{function.name.text}", {kernel});'
