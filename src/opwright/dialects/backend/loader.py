"""Loads backend files into external backends."""

from __future__ import annotations

from collections.abc import Sequence as Files

from opwright.dialects.backend import codes
from opwright.dialects.backend.head import SECTIONS, BackendHead, read_head
from opwright.dialects.dialect import LoadContext
from opwright.dialects.names import default_kernel_name
from opwright.model.catalog import Catalog
from opwright.model.dispatch_key import KEYS, DispatchKey
from opwright.model.external_backend import BackendEntry, BackendSection, ExternalBackend
from opwright.model.native_function import Kernel, NativeFunction
from opwright.source.diagnostic import Diagnostics, Fault, Label, did_you_mean
from opwright.source.nodes import Node, Scalar
from opwright.source.prefetch import read_tree
from opwright.source.text import SourceFile

__all__ = ["load"]

#: The sections whose entries are kernels of the backend's own dispatch key.
_DENSE = ("supported", "full_codegen")


def load(files: Files[SourceFile], context: LoadContext) -> tuple[ExternalBackend, ...]:
    """The backends of the files, in their order. Faults go to the sink of the context."""
    backends = []
    for file in files:
        try:
            head = read_head(read_tree(file), context.sink)
            backends.append(_load_backend(head, file.path, context))
        except Fault as fault:
            context.sink.add(fault.diagnostic)
    return tuple(backends)


def _load_backend(head: BackendHead, path: str, context: LoadContext) -> ExternalBackend:
    """The backend of a file. Raises Fault if its dispatch key is not one that a backend can have."""
    key = _backend_key(head, context.operators)
    symint = frozenset([name.value for name in head.symint])
    sections = [
        BackendSection(
            "supported", key, _entries([*_dense_items(head)], key, head, symint, context), head.span("supported")
        )
    ]
    for name, prefix in SECTIONS.items():
        if name not in _DENSE and head.sections[name]:
            own_key = _section_key(prefix, key, head, name)
            entries = _entries(head.sections[name], own_key, head, symint, context)
            sections.append(BackendSection(name, own_key, entries, head.span(name)))
    _check_symint(head, context)
    _check_groups(sections, context.sink)
    _check_namespace(head, context)
    return ExternalBackend(
        key,
        tuple(sections),
        cpp_namespace=head.cpp_namespace,
        class_name=head.class_name,
        out_is_primary=head.out_is_primary,
        device_guard=head.device_guard,
        path=path,
    )


def _dense_items(head: BackendHead) -> list[Node]:
    return [item for name in _DENSE for item in head.sections[name]]


def _backend_key(head: BackendHead, catalog: Catalog) -> DispatchKey:
    if not head.backend:
        raise Fault.at(codes.MISSING_KEY, "without a dispatch key the file cannot be read further", head.root.span)
    key = _known_key(head.backend, head)
    if catalog.kernels.get(key):
        message = f"PyTorch itself has kernels for `{key}`"
        raise Fault.at(codes.BACKEND_IN_USE, message, head.span("backend"), help="write `PrivateUse1`")
    return key


def _section_key(prefix: str, key: DispatchKey, head: BackendHead, section: str) -> DispatchKey:
    if prefix + key.name not in KEYS:
        message = f"`{key}` has no `{prefix}` key, which `{section}` needs"
        raise Fault.at(codes.UNKNOWN_BACKEND, message, head.span("backend"))
    return KEYS[prefix + key.name]


def _known_key(name: str, head: BackendHead) -> DispatchKey:
    if name not in KEYS:
        help = did_you_mean(name, KEYS, "write `PrivateUse1`")
        raise Fault.at(codes.UNKNOWN_BACKEND, f"there is no dispatch key `{name}`", head.span("backend"), help=help)
    return KEYS[name]


def _entries(
    items: Files[Node], key: DispatchKey, head: BackendHead, symint: frozenset[str], context: LoadContext
) -> tuple[BackendEntry, ...]:
    """The entries of a section; those with faults are left out."""
    entries: dict[NativeFunction, BackendEntry] = {}
    for item in items:
        if not isinstance(item, Scalar) or item.kind != "str":
            message = f"the entry is {item.description}, not the name of an operator"
            context.sink.error(codes.ENTRY_SHAPE, message, item.span)
            continue
        function = _function(item, context)
        if function is None:
            continue
        name = default_kernel_name(function.schema) + ("_symint" if item.value in symint else "")
        entry = BackendEntry(function, Kernel(key, name, head.cpp_namespace, False), item.span)
        if function in entries:
            _report_repeated(entries[function], entry, context)
        entries.setdefault(function, entry)
    return tuple(entries.values())


def _function(name: Scalar, context: LoadContext) -> NativeFunction | None:
    catalog = context.operators
    if name.value in catalog and "::" not in name.value:
        return catalog[name.value]
    if not catalog.may_lack(name.value):
        names = [function.name.text for function in catalog.functions]
        message = f"there is no operator `{name.value}`"
        context.sink.error(codes.UNKNOWN_OPERATOR, message, name.span, help=did_you_mean(name.value, names))
    return None


def _report_repeated(first: BackendEntry, again: BackendEntry, context: LoadContext) -> None:
    also = [Label(first.span, "first here", primary=False)]
    message = f"`{again.function.name}` stands in the section twice"
    if context.tolerant:
        context.sink.warning(codes.REPEATED_ENTRY_WARNING, message, again.span, also=also)
    else:
        context.sink.error(codes.REPEATED_ENTRY, message, again.span, also=also)


def _check_symint(head: BackendHead, context: LoadContext) -> None:
    """Report names in `symint` that are in no section."""
    names = {item.value for items in head.sections.values() for item in items if isinstance(item, Scalar)}
    for name in head.symint:
        if name.value not in names:
            message, help = f"`{name.value}` is in no section", did_you_mean(name.value, names)
            if context.tolerant:
                context.sink.warning(codes.UNUSED_SYMINT_WARNING, message, name.span, help=help)
            else:
                context.sink.error(codes.UNUSED_SYMINT, message, name.span, help=help)


def _check_groups(sections: list[BackendSection], sink: Diagnostics) -> None:
    """Report groups with kernels in two sections."""
    owners: dict[object, tuple[BackendSection, BackendEntry]] = {}
    for section in sections:
        for entry in section.entries:
            group = entry.function.group
            if group is None:
                continue
            owner, first = owners.setdefault(group, (section, entry))
            if owner is not section:
                message = f"`{entry.function.name}` is in `{section.name}`, `{first.function.name}` in `{owner.name}`"
                also = [Label(first.span, "the other overload", primary=False)]
                sink.error(codes.MIXED_GROUP, message, entry.span, also=also)


def _check_namespace(head: BackendHead, context: LoadContext) -> None:
    if context.tolerant and head.cpp_namespace.count("::") > 1:
        message = f"`{head.cpp_namespace}` has more than two levels"
        context.sink.error(codes.NAMESPACE_DEPTH, message, head.span("cpp_namespace"))
