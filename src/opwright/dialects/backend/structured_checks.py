"""Checks between the structured kernels of a section and its other entries."""

from __future__ import annotations

from typing import Final

from opwright.model.dispatch_key import CPU
from opwright.model.external_backend import BackendEntry, BackendSection, Implementation
from opwright.model.native_function import NativeFunctionsGroup
from opwright.source import codes
from opwright.source.diagnostic import Diagnostics, Label

__all__ = ["check_derived_overloads", "check_structured_kernels"]

_STRUCTURED: Final = (Implementation.structured, Implementation.stub)


def check_derived_overloads(section: BackendSection, sink: Diagnostics) -> None:
    """Warn of functional overloads that get the dtype of `self`, and not that of PyTorch's shape function."""
    kernels = section.kernels
    for entry in section.entries:
        group, is_kernel = entry.function.group, entry.options.implementation is Implementation.kernel
        # Those that derive from TensorIterator promote the dtypes of their arguments.
        promotes = entry.function.structured and entry.function.structured_inherits is not None
        if group is not None and promotes and is_kernel and group.functional not in kernels:
            message = f"the result of `{group.functional.name}` has the dtype of `self`, whatever the kernel computes"
            help = "write `structured: true`: PyTorch's shape function then chooses dtype and size"
            sink.warning(codes.DERIVED_DTYPE, message, entry.span, help=help)


def check_structured_kernels(section: BackendSection, sink: Diagnostics) -> None:
    """Report overloads that follow from a structured kernel, and structured kernels of the same name."""
    owners: dict[NativeFunctionsGroup, BackendEntry] = {}
    for entry in section.entries:
        if entry.options.implementation in _STRUCTURED and entry.function.group is not None:
            owners[entry.function.group] = entry
    for entry in section.entries:
        owner = None if entry.function.group is None else owners.get(entry.function.group)
        if owner is not None and owner is not entry and not entry.options.callee:
            message = f"`{entry.function.name}` follows from the structured kernel of `{owner.function.name}`"
            also = [Label(owner.span, "the structured kernel", primary=False)]
            sink.error(codes.DERIVED_OVERLOAD, message, entry.span, also=also, help="delete this entry")
    _check_names(list(owners.values()), sink)


def _check_names(structured: list[BackendEntry], sink: Diagnostics) -> None:
    """Report structured kernels whose classes have the same name; in one file, even those of two scopes clash."""
    owners: dict[str, BackendEntry] = {}
    for entry in structured:
        owner = owners.setdefault(entry.kernel.name, entry)
        if owner is not entry:
            both = f"`{entry.function.name}` and `{owner.function.name}`"
            message = f"{both} have the same class `structured_{entry.kernel.name}`"
            also = [Label(owner.span, "the other operator", primary=False)]
            sink.error(codes.BACKEND_SAME_CLASS, message, entry.span, also=also, help=_renaming(entry, owner))


def _renaming(entry: BackendEntry, owner: BackendEntry) -> str:
    """What to write so that the names differ: that of PyTorch's kernel for one of the two, if it is another one."""
    for either in (entry, owner):
        cpu = either.function.kernels.get(CPU)
        if cpu is not None and cpu.name != either.kernel.name:
            return f"add `kernel_name: {cpu.name}` to the options of `{either.function.name}`"
    return f"add `kernel_name: {entry.function.name.unambiguous}` to the options of `{entry.function.name}`"
