"""Kernels of the policies of autocast."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

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
