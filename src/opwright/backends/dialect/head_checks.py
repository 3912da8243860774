"""Checks of the head of a backend file, with its C++ names and hooks, and checks between the entries of a section."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from typing import Final

from opwright.backends import backend_codes
from opwright.backends.dialect.head import is_own_dialect
from opwright.backends.dialect.head_fields import HeadBuilder
from opwright.backends.dialect.sections import SECTIONS
from opwright.backends.external_backend import BackendEntry, BackendSection
from opwright.backends.hooks import Implementation
from opwright.dialects.dialect import LoadContext
from opwright.dialects.names import FOREIGN_NAMESPACES, IDENTIFIER, namespace_conflict
from opwright.dialects.nearest_key import suggested_key
from opwright.model.dispatch_key import CPU, KEYS
from opwright.model.native_function import NativeFunction, NativeFunctionsGroup
from opwright.schema.function import SchemaKind
from opwright.source.diagnostic import Diagnostics, Label, did_you_mean, shorten
from opwright.source.lazy import lazy_pattern
from opwright.source.nodes import Scalar

#: Texts that PyTorch's generator accepts as names, and that are no other code. C++ can have some of them, or none.
_NAME_LIKE: Final = lazy_pattern(r"\w*(?:::\w*)*")
#: The most levels of `cpp_namespace` that PyTorch's generator accepts.
_LEVELS: Final = 2
#: The fields that are names in C++, and of what.
_NAMES: Final = {"cpp_namespace": "namespace", "class_name": "class"}


def check_names(head: HeadBuilder, context: LoadContext) -> None:
    """Report a namespace or a class that C++ cannot have, or that PyTorch's generator refuses."""
    for field, kind in _NAMES.items():
        node = head.root.get(field)
        if not isinstance(node, Scalar) or node.kind != "str":
            continue
        parts = node.value.split("::") if kind == "namespace" else [node.value]
        if context.tolerant and len(parts) > _LEVELS:
            message = f"`{node.value}` has more than two levels"
            context.sink.error(backend_codes.NAMESPACE_DEPTH, message, node.span)
        wrong = [part for place, part in enumerate(parts) if not _is_cpp_name(part, kind, is_outermost=not place)]
        if wrong:
            message = f"`{shorten(wrong[0])}` is not the name of a C++ {kind}"
            if context.tolerant and _NAME_LIKE.fullmatch(node.value):
                context.sink.warning(backend_codes.CPP_NAME_WARNING, message, node.span)
            else:
                context.sink.error(backend_codes.CPP_NAME, message, node.span)


def _is_cpp_name(name: str, kind: str, *, is_outermost: bool) -> bool:
    """Whether a namespace or a class can have a name. Kernels may be in a namespace of PyTorch."""
    if IDENTIFIER.fullmatch(name) is None:
        return False
    return name in FOREIGN_NAMESPACES or not namespace_conflict(name, is_outermost=is_outermost and kind == "namespace")


def check_empty(head: HeadBuilder, *, is_written: bool) -> None:
    """Warn of a file for which nothing is written, because it has no operator."""
    if not is_written and not head.sink.has_errors:
        place = head.key_span("supported" if "supported" in head.spans else "backend")
        message = "nothing is written, because no section has an operator"
        if head.sections.get("autograd") and not is_own_dialect(head):
            message = "nothing is written for `autograd`, because `supported` has no operator"
        head.sink.warning(backend_codes.EMPTY_SECTION, message, place)


def check_unwritten(head: HeadBuilder, context: LoadContext) -> None:
    """Warn of a file without operators, for which PyTorch's generator writes nothing. It looks up the Autograd key."""
    if not head.sections.get("autograd"):
        place = head.span("supported" if "supported" in head.spans else "backend")
        context.sink.warning(
            backend_codes.EMPTY_SECTION, "nothing is written, because `supported` has no operator", place
        )
        return
    message = "nothing is written for `autograd`, because `supported` has no operator"
    context.sink.warning(backend_codes.EMPTY_SECTION, message, head.span("autograd"))
    key = f"{SECTIONS['autograd'].prefix}{head.backend}"
    if head.backend and key not in KEYS:
        context.sink.error(backend_codes.UNKNOWN_BACKEND, f"there is no dispatch key `{key}`", head.span("backend"))


def check_hooks(head: HeadBuilder, sections: Sequence[BackendSection], own_names: Iterable[str]) -> None:
    """Report dispatch keys without a section, and patterns that no operator with an entry matches.

    `own_names` are those of the operators that the file defines, with their namespaces: hooks are around their kernels
    too.
    """
    # By the name of its key, or by the same with the display name.
    shown = head.display_name or head.backend
    names_of_keys = [(section.key.name, section.key.name.removesuffix(head.backend) + shown) for section in sections]
    keys = [name for names in names_of_keys for name in dict.fromkeys(names)]
    functions = [entry.function for section in sections for entry in section.entries]
    full_names = [*[f"{function.namespace}::{function.name}" for function in functions], *own_names]
    operators = {form for name in full_names for form in (name, name.partition("::")[2])}
    for hook in head.hooks:
        for key in hook.keys:
            if key.value not in keys:
                message = f"no section has the dispatch key `{key.value}`"
                help = suggested_key(key.value, keys, "there are " + ", ".join([f"`{name}`" for name in keys]))
                head.sink.error(backend_codes.HOOK, message, key.span, help=help)
        for pattern in hook.names:
            if not any(fnmatchcase(name, pattern.value) for name in operators):
                message = f"no operator with an entry has a name like `{pattern.value}`"
                help = did_you_mean(pattern.value, operators)
                head.sink.warning(backend_codes.NO_EFFECT, message, pattern.span, help=help)


#: The sections whose entries PyTorch's generator reads.
_COMMON = ("supported", "autograd")


def check_symint(head: HeadBuilder, context: LoadContext) -> None:
    """Report names in `symint` that are in no section, or twice in `symint`."""
    names = frozenset[str]().union(*head.names.values())
    first: dict[str, Label] = {}
    for name in head.symint:
        if name.value not in names or name.kind != "str":
            message, help = f"`{name.value or 'null'}` is in no section", did_you_mean(name.value, names)
            if context.tolerant:
                context.sink.warning(backend_codes.UNUSED_SYMINT_WARNING, message, name.span, help=help)
            else:
                context.sink.error(backend_codes.UNUSED_SYMINT, message, name.span, help=help)
        elif name.value in first:
            message, also = f"`{name.value}` is in `symint` twice", [first[name.value]]
            if context.tolerant:
                context.sink.warning(backend_codes.BACKEND_REPEATED_ENTRY_WARNING, message, name.span, also=also)
            else:
                context.sink.error(backend_codes.BACKEND_REPEATED_ENTRY, message, name.span, also=also)
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
                sink.error(backend_codes.MIXED_GROUP, message, entry.span, also=also)


def _check_derived_overloads(sections: Sequence[BackendSection], sink: Diagnostics) -> None:
    """Report overloads with an entry in one section, which another section makes from the functional overload."""
    for section in sections:
        functional = {entry.function: entry for entry in section.entries if _is_functional(entry)}
        kernels = section.kernels
        for other in sections:
            for entry in other.entries if other is not section else ():
                group = entry.function.group
                source = functional.get(entry.function if group is None else group.functional)
                if source is None or entry.function in kernels or _is_functional(entry):
                    continue
                message = (
                    f"`{entry.function.name}` is in `{other.name}`, and `{section.name}` makes it from "
                    f"`{source.function.name}`"
                )
                also = [Label(source.span, "the functional overload", primary=False)]
                help = f"write it in `{section.name}` too, or both in one section"
                sink.error(backend_codes.MIXED_GROUP, message, entry.span, also=also, help=help)


def _is_functional(entry: BackendEntry) -> bool:
    return entry.function.kind is SchemaKind.functional


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
                sink.error(backend_codes.SAME_KERNEL, message, entry.span, also=also, help=help)


def check_manual(sections: Iterable[BackendSection], head: HeadBuilder, sink: Diagnostics) -> None:
    """Report operators in `manual` that have an entry too."""
    entries = {entry.function.name.text: entry for section in sections for entry in section.entries}
    for name in head.manual:
        if name.value in entries:
            also = [Label(entries[name.value].span, "the entry", primary=False)]
            message = f"`{name.value}` is in `manual`, and has an entry"
            sink.error(backend_codes.MANUAL_ENTRY, message, name.span, also=also, help="delete one of them")


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
            sink.warning(backend_codes.DERIVED_DTYPE, message, entry.span, help=help)


def check_structured_kernels(section: BackendSection, sink: Diagnostics) -> None:
    """Report overloads that follow from a structured kernel, and structured kernels of the same name."""
    owners: dict[NativeFunctionsGroup, BackendEntry] = {}
    for entry in section.entries:
        if entry.options.implementation.is_structured and entry.function.group is not None:
            owners[entry.function.group] = entry
    for entry in section.entries:
        owner = None if entry.function.group is None else owners.get(entry.function.group)
        if owner is not None and owner is not entry and not entry.options.callee:
            message = f"`{entry.function.name}` follows from the structured kernel of `{owner.function.name}`"
            also = [Label(owner.span, "the structured kernel", primary=False)]
            sink.error(backend_codes.DERIVED_OVERLOAD, message, entry.span, also=also, help="delete this entry")
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
            sink.error(backend_codes.BACKEND_SAME_CLASS, message, entry.span, also=also, help=_renaming(entry, owner))


def _renaming(entry: BackendEntry, owner: BackendEntry) -> str:
    """What to write so that the names differ: that of PyTorch's kernel for one of the two, if it is another one."""
    for either in (entry, owner):
        cpu = either.function.kernels.get(CPU)
        if cpu is not None and cpu.name != either.kernel.name:
            return f"add `kernel_name: {cpu.name}` to the options of `{either.function.name}`"
    return f"add `kernel_name: {entry.function.name.unambiguous}` to the options of `{entry.function.name}`"
