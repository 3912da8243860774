"""Checks between the entries of a section, its structured kernels included."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from opwright.dialects.backend.head_builder import HeadBuilder
from opwright.dialects.dialect import LoadContext
from opwright.model.dispatch_key import CPU
from opwright.model.external_backend import BackendEntry, BackendSection, Implementation
from opwright.model.native_function import NativeFunction, NativeFunctionsGroup
from opwright.schema.function import SchemaKind
from opwright.source import codes
from opwright.source.diagnostic import Diagnostics, Label, did_you_mean

__all__ = [
    "check_derived_overloads",
    "check_groups",
    "check_kernels",
    "check_manual",
    "check_structured_kernels",
    "check_symint",
]


#: The sections whose entries PyTorch's generator reads.
_COMMON = ("supported", "autograd")


def check_symint(head: HeadBuilder, context: LoadContext) -> None:
    """Report names in `symint` that are in no section, or twice in `symint`."""
    names = {name for section in head.sections for name in head.names(section)}
    first: dict[str, Label] = {}
    for name in head.symint:
        if name.value not in names or name.kind != "str":
            message, help = f"`{name.value or 'null'}` is in no section", did_you_mean(name.value, names)
            if context.tolerant:
                context.sink.warning(codes.UNUSED_SYMINT_WARNING, message, name.span, help=help)
            else:
                context.sink.error(codes.UNUSED_SYMINT, message, name.span, help=help)
        elif name.value in first:
            message, also = f"`{name.value}` is in `symint` twice", [first[name.value]]
            if context.tolerant:
                context.sink.warning(codes.BACKEND_REPEATED_ENTRY_WARNING, message, name.span, also=also)
            else:
                context.sink.error(codes.BACKEND_REPEATED_ENTRY, message, name.span, also=also)
        first.setdefault(name.value, Label(name.span, "first here", primary=False))


def check_groups(sections: Sequence[BackendSection], head: HeadBuilder, context: LoadContext) -> None:
    """Report overloads with two implementations: their own, and one that follows from another overload."""
    common = [section for section in sections if section.name in _COMMON]
    if context.tolerant:
        _check_mixed_groups(common, context.sink)
    elif not head.out_is_primary and head.options.derived_overloads:
        _check_derived_overloads(common, context.sink)
    for section in sections:
        check_structured_kernels(section, context.sink)


def _check_mixed_groups(sections: Iterable[BackendSection], sink: Diagnostics) -> None:
    """Report groups with kernels in two sections."""
    owners: dict[object, tuple[BackendSection, BackendEntry]] = {}
    for section in sections:
        for entry in section.entries:
            owner, first = owners.setdefault(entry.function.group or entry.function, (section, entry))
            if owner is not section:
                message = f"`{entry.function.name}` is in `{section.name}`, `{first.function.name}` in `{owner.name}`"
                also = [Label(first.span, "the other entry", primary=False)]
                sink.error(codes.MIXED_GROUP, message, entry.span, also=also)


def _check_derived_overloads(sections: Sequence[BackendSection], sink: Diagnostics) -> None:
    """Report overloads with an entry in one section, which another section makes from the functional overload."""
    for section in sections:
        functional = {entry.function: entry for entry in section.entries if _makes_overloads(entry.function)}
        own = section.kernels
        for other in sections:
            for entry in other.entries if other is not section else ():
                source = functional.get(_functional(entry.function))
                if source is None or entry.function in own or _makes_overloads(entry.function):
                    continue
                message = (
                    f"`{entry.function.name}` is in `{other.name}`, and `{section.name}` makes it from "
                    f"`{source.function.name}`"
                )
                also = [Label(source.span, "the functional overload", primary=False)]
                help = f"write it in `{section.name}` too, or both in one section"
                sink.error(codes.MIXED_GROUP, message, entry.span, also=also, help=help)


def _functional(function: NativeFunction) -> NativeFunction:
    return function if function.group is None else function.group.functional


def _makes_overloads(function: NativeFunction) -> bool:
    """Whether the other overloads of a group are made from this one if they have no entry."""
    return function.kind is SchemaKind.functional


def check_kernels(sections: Iterable[BackendSection], sink: Diagnostics) -> None:
    """Report functions whose kernels for two dispatch keys would be one C++ function."""
    owners: dict[tuple[NativeFunction, str, str], BackendEntry] = {}
    for section in sections:
        for entry in section.entries:
            if entry.options.implementation is not Implementation.kernel or entry.options.policy:
                continue
            owner = owners.setdefault((entry.function, entry.kernel.namespace, entry.kernel.name), entry)
            if owner is not entry and not entry.options.callee:
                message = f"`{entry.function.name}` has the same kernel `{entry.kernel.name}` for two dispatch keys"
                also = [Label(owner.span, "the other entry", primary=False)]
                help = "give one of them another name with `kernel_name`"
                sink.error(codes.SAME_KERNEL, message, entry.span, also=also, help=help)


def check_manual(sections: Iterable[BackendSection], head: HeadBuilder, sink: Diagnostics) -> None:
    """Report operators in `manual` that have an entry too."""
    entries = {entry.function.name.text: entry for section in sections for entry in section.entries}
    for name in head.manual:
        if name.value in entries:
            also = [Label(entries[name.value].span, "the entry", primary=False)]
            message = f"`{name.value}` is in `manual`, and has an entry"
            sink.error(codes.MANUAL_ENTRY, message, name.span, also=also, help="delete one of them")


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
