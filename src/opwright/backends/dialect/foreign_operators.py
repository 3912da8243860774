"""Operators of other libraries than PyTorch, whose schemas stand in a backend file as `func`."""

from __future__ import annotations

from collections.abc import Iterator

from opwright.backends import backend_codes
from opwright.backends.dialect.entry_fields import FUNC
from opwright.backends.dialect.head_fields import HeadBuilder
from opwright.dialects.dialect import LoadContext
from opwright.dialects.names import CPP_WORDS, IDENTIFIER
from opwright.dialects.native_functions.entry_builder import EntryContext
from opwright.dialects.native_functions.loader import link_entries, load_entries
from opwright.dialects.native_functions.report import CrossReport
from opwright.libraries.dialect.entry_checks import check_library_entry
from opwright.libraries.operator_library import library_names
from opwright.model.library import PYTORCH
from opwright.model.native_function import NativeFunction
from opwright.schema.fault import SchemaFault
from opwright.schema.parser import Grammar, read_namespace
from opwright.source.diagnostic import Diagnostics
from opwright.source.expect import expect_string
from opwright.source.nodes import MappingNode, Node, Scalar
from opwright.syntax.dispatcher_schemas import DISPATCHER, DISPATCHER_WITH_DIMNAMES


def load_foreign_operators(head: HeadBuilder, context: LoadContext) -> dict[str, NativeFunction | None]:
    """Operators whose entries have a schema, by name with namespace; None for schemas with faults.

    Faults go to the sink of the context.
    """
    operators: dict[str, NativeFunction | None] = {}
    schemas: dict[str, Scalar] = {}
    grammar = DISPATCHER_WITH_DIMNAMES if context.rules.dispatcher_takes_dimnames else DISPATCHER
    for name, node in _schemas(head):
        operators[name.value] = None
        func = expect_string(node, f"`{FUNC}`", context.sink)
        if func is None or not _is_schema_of(name, func, grammar, context.sink):
            continue
        first = schemas.setdefault(name.value, func)
        if first.value != func.value:
            message = f"`{name.value}` has another schema above"
            context.sink.error(
                backend_codes.FOREIGN_SCHEMA, message, func.span, help="write the same schema everywhere"
            )
    namespaces: dict[str, list[MappingNode]] = {}
    for operator, func in schemas.items():
        entry = MappingNode(func.file, func.start, func.end, [(Scalar(func.file, func.start, func.start, FUNC), func)])
        namespaces.setdefault(operator.partition("::")[0], []).append(entry)
    for namespace, entries in namespaces.items():
        for function in _load_namespace(namespace, entries, grammar, context):
            operators[f"{namespace}::{function.name.text}"] = function
    # PyTorch has the schemas of its operators.
    return {name: function for name, function in operators.items() if "::" in name}


def _schemas(head: HeadBuilder) -> Iterator[tuple[Scalar, Node]]:
    """The names and the schemas of entries that have one."""
    for items in head.sections.values():
        for item in items:
            entry = item.entries[0] if isinstance(item, MappingNode) and len(item.entries) == 1 else None
            node = entry[1].get(FUNC) if entry is not None and isinstance(entry[1], MappingNode) else None
            if entry is not None and node is not None:
                yield entry[0], node


def _is_schema_of(name: Scalar, func: Scalar, grammar: Grammar, sink: Diagnostics) -> bool:
    """Whether a schema is that of an operator which PyTorch does not have."""
    namespace, colons, own_name = name.value.partition("::")
    if not colons or namespace == PYTORCH.namespace:
        message = f"`{name.value}` has its schema in PyTorch"
        sink.error(backend_codes.FOREIGN_SCHEMA, message, func.span, help=f"delete `{FUNC}`")
        return False
    if IDENTIFIER.fullmatch(namespace) is None or namespace in CPP_WORDS:
        message = f"`{namespace}` is not the name of a namespace"
        sink.error(backend_codes.FOREIGN_SCHEMA, message, name.span_of(0, len(namespace)))
        return False
    try:
        stated, start = read_namespace(func.value, grammar)
        schema_name = grammar.read_schema(func.value, start).name.text
    except SchemaFault as fault:
        sink.add(fault.at(func.span_of(fault.start, fault.end)))
        return False
    if (stated or namespace, schema_name) == (namespace, own_name):
        return True
    message = f"the schema is not that of `{name.value}`"
    sink.error(backend_codes.FOREIGN_SCHEMA, message, func.span_of(0, len(func.value.partition("(")[0])))
    return False


def _load_namespace(
    namespace: str, entries: list[MappingNode], grammar: Grammar, context: LoadContext
) -> tuple[NativeFunction, ...]:
    operator_sink = Diagnostics()
    report = CrossReport(operator_sink, entries)
    tags, library = frozenset(context.operators.tags), library_names(namespace)
    entry_context = EntryContext(
        *(tags, frozenset(), operator_sink),
        library=library,
        only_schemas=True,
        grammar=grammar,
        check_more=check_library_entry,
    )
    functions = link_entries(load_entries(entries, entry_context, report), report, tag_by_kind=False).functions
    context.sink.extend(operator_sink)
    return functions
