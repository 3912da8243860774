"""Loads library files: the operators of each namespace, with a catalog of their own."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Sequence as Files
from typing import NamedTuple

from opwright.dialects.dialect import LoadContext
from opwright.dialects.library import codes
from opwright.dialects.library.derivatives import NamedDerivatives, with_derivatives
from opwright.dialects.library.fields import READERS
from opwright.dialects.library.head import Head, read_head
from opwright.dialects.native_functions.entry_builder import EntryContext
from opwright.dialects.native_functions.loader import link_entries, load_entries
from opwright.dialects.native_functions.report import CrossReport
from opwright.dialects.table import TAGS
from opwright.dialects.tags.loader import load_tags
from opwright.model.catalog import Catalog
from opwright.model.dispatch_key import LIBRARY_KEYS
from opwright.model.library import Library
from opwright.model.native_function import UnlinkedFunction
from opwright.model.operator_library import OperatorLibrary
from opwright.schema.fault import SchemaFault
from opwright.schema.parser import read_namespace
from opwright.source.diagnostic import Diagnostics, Fault
from opwright.source.nodes import Mapping, Node, Scalar
from opwright.source.prefetch import read_tree
from opwright.source.text import SourceFile

__all__ = ["library_names", "load"]


class _NamespaceEntries(NamedTuple):
    """The entries of one namespace in one file, under the head of the file."""

    head: Head
    items: list[Node]


def library_names(namespace: str, cpp_namespace: str = "") -> Library:
    """The names around the operators of a namespace, in the C++ namespace of that name unless another one is given.

    >>> library_names("acme").operators, library_names("acme", "acme::ops").headers
    ('acme::_ops', 'acme/ops')
    """
    api = cpp_namespace or namespace
    return Library(namespace, api, api.replace("::", "/"), f"{namespace.upper()}_API")


def load(files: Files[SourceFile], context: LoadContext) -> tuple[OperatorLibrary, ...]:
    """The operators of library files by namespace, in the order of the files. Faults go to the sink of the context."""
    own = Diagnostics()
    tags = load_tags(TAGS.files(context.inputs)[0], own)
    namespaces: dict[str, list[_NamespaceEntries]] = {}
    named: list[NamedDerivatives] = []
    for file in files:
        try:
            head, items = read_head(read_tree(file), own)
        except Fault as fault:
            own.add(fault.diagnostic)
            continue
        by_namespace = _by_namespace(items, head, own)
        named.append(NamedDerivatives(head, file.path, tuple(by_namespace) or (head.namespace,)))
        for namespace, entries in by_namespace.items():
            namespaces.setdefault(namespace, []).append(_NamespaceEntries(head, entries))
    libraries = [_load_namespace(name, parts, tags, context, own) for name, parts in namespaces.items()]
    derived = with_derivatives(libraries, named, context._replace(sink=own))
    context.sink.extend(own)
    return derived


def _by_namespace(items: Iterable[Node], head: Head, sink: Diagnostics) -> dict[str, list[Node]]:
    """The entries by namespace: the one that a schema names, otherwise the one of the head."""
    namespaces: dict[str, list[Node]] = {}
    for item in items:
        namespace = _namespace_of(item) or head.namespace
        if namespace:
            namespaces.setdefault(namespace, []).append(item)
        else:
            sink.error(
                codes.NO_NAMESPACE,
                "the operator is in no namespace",
                item.span,
                help="write `namespace: NAME` in the head",
            )
    return namespaces


def _namespace_of(item: Node) -> str:
    func = item.get("func") if isinstance(item, Mapping) else None
    if not isinstance(func, Scalar):
        return ""
    try:
        return read_namespace(func.value)[0]
    except SchemaFault:
        # Loading the entry reports it.
        return ""


def _load_namespace(
    namespace: str, parts: list[_NamespaceEntries], tags: dict[str, str], context: LoadContext, sink: Diagnostics
) -> OperatorLibrary:
    head = parts[0].head
    library = library_names(namespace, head.cpp_namespace if namespace == head.namespace else "")
    own = Diagnostics()
    entries = [item for part in parts for item in part.items]
    report = CrossReport(own, [item for item in entries if isinstance(item, Mapping)])
    entry_context = EntryContext(frozenset(tags), frozenset(), own, library=library, readers=READERS, keys=LIBRARY_KEYS)
    functions: list[UnlinkedFunction] = load_entries(entries, entry_context, report)
    linked = link_entries(functions, report, tag_by_kind=context.rules.generated_operators_tagged_by_kind)
    sink.extend(own)
    catalog = Catalog(*linked, tuple(LIBRARY_KEYS.values()), tags, report.absent, is_sound=not own.has_errors)
    package = head.python_package if namespace == head.namespace else ""
    return OperatorLibrary(library, catalog, includes=head.includes, python_package=package)
