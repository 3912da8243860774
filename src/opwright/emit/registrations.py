"""Registrations with the dispatcher as records, and their text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from opwright.release.rules import Rules
from opwright.source.records import NamedTuple


class Registration(NamedTuple):
    """A kernel that is registered for an operator under a dispatch key.

    `operator` is the operator's name with its overload; without one, `kernel` is the fallback of the key, and
    `namespace` is `_`. `kernel` is a C++ expression, and a function if there is a `macro` that registers it in place of
    `m.impl`. `condition` is a C++ expression that is evaluated when the library is loaded. `breaks_line`: the kernel is
    on a line of its own. `includes` are the headers that the other texts need.
    """

    namespace: str
    key: str
    operator: str
    kernel: str
    condition: str = ""
    macro: str = ""
    breaks_line: bool = True
    includes: tuple[str, ...] = ()


def end_of_registrations(rules: Rules) -> str:
    """What ends a block of registrations."""
    return "}" if rules.registrations_end_without_semicolon else "};"


def print_registrations(registrations: Iterable[Registration], end: str = "}") -> list[str]:
    """Lines of the registrations, a block for each namespace and key, in the order of their first registrations.

    >>> print("\\n".join(print_registrations([Registration("aten", "HPU", "relu", "&relu", "enabled()")])))
    TORCH_LIBRARY_IMPL(aten, HPU, m) {
        if (enabled()) {
          m.impl("relu",
          &relu);
        }
    }
    """
    blocks: dict[tuple[str, str], list[str]] = {}
    for registration in registrations:
        blocks.setdefault((registration.namespace, registration.key), []).append(_statement(registration))
    return [
        line
        for (namespace, key), statements in blocks.items()
        for line in (f"TORCH_LIBRARY_IMPL({namespace}, {key}, m) {{", *statements, end)
    ]


def _statement(registration: Registration) -> str:
    operator, kernel = registration.operator, registration.kernel
    if not operator:
        text = f"m.fallback({kernel});"
    elif registration.macro:
        text = f'{registration.macro}(m, "{operator}", {kernel});'
    else:
        gap = "\n" if registration.breaks_line else " "
        text = f'm.impl("{operator}",{gap}{kernel});'
    if registration.condition:
        body = text.replace("\n", "\n  ")
        text = f"if ({registration.condition}) {{\n  {body}\n}}"
    return "    " + text.replace("\n", "\n    ")


#: The header with the kernels of policies of autocast.
AUTOCAST_HEADER: Final = "opwright/autocast.h"
#: The policy that calls another overload.
APPEND_DTYPE: Final = "fp32_append_dtype"
#: What the dispatch keys of autocast begin with.
AUTOCAST: Final = "Autocast"


def policy_kernel(policy: str, device: str, callee: str, type: str, by_argument: Sequence[str] = ()) -> str:
    """Kernel of an operator of a type with a policy on a device, which calls a function of the type.

    Without a policy, the arguments have one each, empty for those that are not cast.

    >>> policy_kernel("fp32", "CPU", "f", "void ()")
    '&::opwright::autocast::Kernel<::opwright::autocast::Policy::fp32, c10::DeviceType::CPU, \
c10::DispatchKey::AutocastCPU, &f, void ()>::call'
    """
    on_device = f"c10::DeviceType::{device}, c10::DispatchKey::{AUTOCAST}{device}, &{callee}, {type}"
    if policy:
        return f"&::opwright::autocast::Kernel<::opwright::autocast::Policy::{policy}, {on_device}>::call"
    policies = ", ".join([f"::opwright::autocast::Policy::{own or 'none'}" for own in by_argument])
    return f"&::opwright::autocast::ArgumentsKernel<{on_device}, {policies}>::call"
