"""Loads backend files into external backends."""

from __future__ import annotations

from collections.abc import Sequence as Files

from opwright.dialects.backend import codes
from opwright.dialects.backend.entries import find_operator, load_entries
from opwright.dialects.backend.entry_builder import SectionContext
from opwright.dialects.backend.head import read_head
from opwright.dialects.backend.head_builder import HeadBuilder
from opwright.dialects.backend.section_checks import check_groups, check_kernels, check_manual, check_symint
from opwright.dialects.backend.sections import DENSE, SECTIONS, SectionKind, section_key
from opwright.dialects.dialect import LoadContext
from opwright.model.catalog import Catalog
from opwright.model.dispatch_key import KEYS, DispatchKey
from opwright.model.external_backend import BackendSection, ExternalBackend
from opwright.source.diagnostic import Fault, did_you_mean
from opwright.source.nodes import Node
from opwright.source.prefetch import read_tree
from opwright.source.text import SourceFile

__all__ = ["load"]


def load(files: Files[SourceFile], context: LoadContext) -> tuple[ExternalBackend, ...]:
    """The backends of the files, in their order. Faults go to the sink of the context."""
    backends = []
    for file in files:
        try:
            head = read_head(read_tree(file), context)
            backends.append(_load_backend(head, file.path, context))
        except Fault as fault:
            context.sink.add(fault.diagnostic)
    return tuple(backends)


def _load_backend(head: HeadBuilder, path: str, context: LoadContext) -> ExternalBackend:
    """The backend of a file. Raises Fault if its dispatch key is not one that a backend can have."""
    key = _backend_key(head, context.operators)
    dense = [item for kind in SECTIONS.values() if kind.is_dense for item in head.sections.get(kind.name, ())]
    sections = [_load_section(DENSE, key, dense, head, context)]
    for kind in SECTIONS.values():
        items = head.sections.get(kind.name, [])
        if not kind.is_dense and items:
            own_key = section_key(kind, key, head.span("backend"))
            sections.append(_load_section(kind, own_key, items, head, context))
    manual = [find_operator(name, context) for name in head.manual]
    check_symint(head, context)
    check_groups(sections, head, context)
    check_kernels(sections, context.sink)
    check_manual(sections, head, context.sink)
    _check_namespace(head, context)
    return ExternalBackend(
        key,
        tuple(sections),
        cpp_namespace=head.cpp_namespace,
        class_name=head.class_name,
        display_name=head.display_name,
        out_is_primary=head.out_is_primary,
        device_guard=head.device_guard,
        path=path,
        options=head.options._replace(manual=frozenset([function for function in manual if function is not None])),
    )


def _load_section(
    kind: SectionKind, key: DispatchKey, items: list[Node], head: HeadBuilder, context: LoadContext
) -> BackendSection:
    entries = load_entries(items, SectionContext(kind, key, head, context))
    return BackendSection(kind.name, key, entries, head.span(kind.name))


def _backend_key(head: HeadBuilder, catalog: Catalog) -> DispatchKey:
    if not head.backend:
        raise Fault.at(codes.MISSING_KEY, "without a dispatch key the file cannot be read further", head.root.span)
    key = _known_key(head)
    if catalog.kernels.get(key):
        message = f"PyTorch itself has kernels for `{key}`"
        raise Fault.at(codes.BACKEND_IN_USE, message, head.span("backend"), help="write `PrivateUse1`")
    return key


def _known_key(head: HeadBuilder) -> DispatchKey:
    if head.backend in KEYS:
        return KEYS[head.backend]
    help = did_you_mean(head.backend, KEYS, "write `PrivateUse1`")
    message = f"there is no dispatch key `{head.backend}`"
    raise Fault.at(codes.UNKNOWN_BACKEND, message, head.span("backend"), help=help)


def _check_namespace(head: HeadBuilder, context: LoadContext) -> None:
    if context.tolerant and head.cpp_namespace.count("::") > 1:
        message = f"`{head.cpp_namespace}` has more than two levels"
        context.sink.error(codes.NAMESPACE_DEPTH, message, head.span("cpp_namespace"))
