"""Operators that a backend file has of its own: in its own `operators`, and in library files that it names."""

from __future__ import annotations

import os
from collections.abc import Iterable
from functools import partial
from typing import Final

from opwright.backends import backend_codes
from opwright.backends.dialect.head_fields import HeadBuilder
from opwright.backends.file_backend import OwnBackend
from opwright.backends.hook_statements import hook_headers
from opwright.backends.wrapper_options import NO_HEAD_OPTIONS
from opwright.dialects.dialect import LoadContext
from opwright.dialects.field import OPERATORS, OWN_OPERATOR_FIELDS
from opwright.dialects.names import default_kernel_name
from opwright.libraries.dialect.head import read_head
from opwright.libraries.dialect.loader import LibrarySource, load_sources
from opwright.libraries.dialect.namespaces import entries_by_namespace
from opwright.libraries.operator_library import OperatorLibrary, OwnWrappers
from opwright.model.dispatch_key import COMPOSITE_IMPLICIT, DispatchKey
from opwright.schema.fault import SchemaFault
from opwright.schema.parser import read_namespace
from opwright.source.diagnostic import Diagnostics, Fault
from opwright.source.nodes import MappingNode, Node, Scalar
from opwright.source.yaml import load_yaml
from opwright.syntax.dispatcher_schemas import DISPATCHER, read_written_schema
from opwright.workspace.named_files import read_named_file

#: The fields of the head that are those of a library file. `includes` is none: a library's declare its kernels.
_LIBRARY_KEYS: Final = tuple([field.name for field in OWN_OPERATOR_FIELDS])

_DISPATCH: Final = "dispatch"


def load_own_operators(heads: dict[str, HeadBuilder], context: LoadContext) -> dict[str, tuple[OperatorLibrary, ...]]:
    """Own operators of backend files, by the path of the file. Faults go to the sink of the context.

    A namespace is one library, whose operators may stand in several files; it belongs to the first of them.
    """
    files = {path: _sources(head, path, context) for path, head in heads.items()}
    sources = [source for file_sources in files.values() for source in file_sources]
    if not sources:
        return {}
    libraries = load_sources(sources, context)
    owners: dict[str, str] = {}
    for path, file_sources in files.items():
        for source in file_sources:
            for namespace in entries_by_namespace(source.items, source.head, Diagnostics()):
                owners.setdefault(namespace, path)
    return {
        path: tuple([library for library in libraries if owners[library.library.namespace] == path]) for path in heads
    }


def with_wrappers(
    libraries: Iterable[OperatorLibrary], head: HeadBuilder, key: DispatchKey
) -> tuple[OperatorLibrary, ...]:
    """Libraries of a file with `operators`, whose wrappers are those of the backend's key."""
    options = head.options
    display_name = head.display_name or key.name
    of_wrappers = NO_HEAD_OPTIONS._replace(device_check=options.device_check, hooks=options.hooks)
    make = partial(OwnBackend, head=of_wrappers, opens_guards=head.device_guard)
    wrappers = OwnWrappers(key.name, display_name, make, (*options.includes, *hook_headers(options.hooks)))
    return tuple([library.replace(wrappers=wrappers) for library in libraries])


def _sources(head: HeadBuilder, path: str, context: LoadContext) -> list[LibrarySource]:
    """Operators in the file itself, and those of the library files that it names."""
    sources = [_inline_source(head, path, context.sink)] if head.root.get(OPERATORS) is not None else []
    for scalar in head.library_files:
        library_path = os.path.join(os.path.dirname(path), scalar.value)
        file = read_named_file(scalar.value, path, scalar.span, backend_codes.LIBRARY_FILE, context)
        if file is None:
            continue
        try:
            tree = load_yaml(file)
        except Fault as fault:
            context.sink.error(backend_codes.LIBRARY_FILE, fault.diagnostic.message, scalar.span)
            continue
        try:
            sources.append(LibrarySource(*read_head(tree, context.sink), library_path))
        except Fault as fault:
            context.sink.add(fault.diagnostic)
    return sources


def _inline_source(head: HeadBuilder, path: str, sink: Diagnostics) -> LibrarySource:
    """Operators that stand in the backend file, under those fields of its head that library files have too."""
    fields = [(key, value) for key, value in head.root.entries if key.value in _LIBRARY_KEYS]
    root = head.root
    library_head, items = read_head(MappingNode(root.file, root.start, root.end, fields), sink)
    return LibrarySource(library_head, [_with_kernel(item, head.backend) for item in items], path)


def _with_kernel(item: Node, key: str) -> Node:
    """Entry, with a kernel for the backend unless it says how it is implemented.

    An implicit composite kernel of the usual name, which an entry of a library file has without saying so, is left out.
    """
    func = item.get("func") if isinstance(item, MappingNode) else None
    if not isinstance(item, MappingNode) or not isinstance(func, Scalar) or item.get("structured_delegate") is not None:
        return item
    try:
        name = default_kernel_name(read_written_schema(func.value, read_namespace(func.value, DISPATCHER)[1]))
    except SchemaFault:
        # Loading the entry reports it.
        return item
    dispatch = item.get(_DISPATCH)
    if dispatch is None:
        kernels = MappingNode(func.file, func.start, func.end, [(_scalar(key, func), _scalar(name, func))])
        return MappingNode(item.file, item.start, item.end, [*item.entries, (_scalar(_DISPATCH, func), kernels)])
    if _kernels(dispatch) == {COMPOSITE_IMPLICIT.name: name}:
        entries = [(field, value) for field, value in item.entries if field.value != _DISPATCH]
        return MappingNode(item.file, item.start, item.end, entries)
    return item


def _scalar(value: str, place: Scalar) -> Scalar:
    return Scalar(place.file, place.start, place.end, value, kind="str")


def _kernels(dispatch: Node) -> dict[str, str]:
    entries = dispatch.entries if isinstance(dispatch, MappingNode) else []
    return {key.value: value.value for key, value in entries if isinstance(value, Scalar)}
