"""Backend files with every structured operator of PyTorch."""

from __future__ import annotations

from collections.abc import Iterable

import opwright
from opwright.model.dispatch_key import CPU, CUDA
from opwright.model.native_function import NativeFunctionsGroup

__all__ = ["backend_text", "shared_groups", "structured_groups"]

_HEAD = """\
backend: PrivateUse1
display_name: Acme
cpp_namespace: acme
use_out_as_primary: true
device_guard: true
supported:
"""


def structured_groups() -> tuple[NativeFunctionsGroup, ...]:
    """All structured operators of the installed PyTorch."""
    return tuple(opwright.load("auto").structured_groups)


def shared_groups() -> list[NativeFunctionsGroup]:
    """Those with one kernel for the CPU and CUDA, and the element-wise ones that PyTorch generates."""
    return [group for group in structured_groups() if _is_shared(group)]


def _is_shared(group: NativeFunctionsGroup) -> bool:
    cpu, cuda = group.out.kernels.get(CPU), group.out.kernels.get(CUDA)
    if cpu is None or cuda is None:
        return False
    return bool(group.out.ufunc) or cpu.name == cuda.name


def backend_text(groups: Iterable[NativeFunctionsGroup], options: str, *, names: bool = True) -> str:
    """A backend file with options for each operator; with `names`, each kernel has a name of its own."""
    lines = [_HEAD]
    for group in groups:
        name = f", kernel_name: acme_{group.out.name.unambiguous}" if names else ""
        lines.append(f"- {group.out.name}: {{{options}{name}}}\n")
    return "".join(lines)
