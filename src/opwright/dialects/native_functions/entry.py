"""Loads one entry of `native_functions.yaml`."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from opwright.dialects.native_functions.dispatch import add_ufunc_kernels, build_kernels
from opwright.dialects.native_functions.entry_builder import EntryBuilder, EntryContext, EntryField, name_span
from opwright.dialects.native_functions.fields import ROWS_BY_NAME
from opwright.dialects.native_functions.rules import check_entry
from opwright.model.native_function import UnlinkedFunction
from opwright.schema.function import FunctionSchema
from opwright.schema.tag_rules import fits_inplace
from opwright.source import codes
from opwright.source.expect import check_unique_keys
from opwright.source.nodes import MappingNode, Node, Scalar, did_you_mean_key
from opwright.source.span import Span

if TYPE_CHECKING:
    from opwright.dialects.dialect import ExtraKeys
    from opwright.source.diagnostic import Suggestion


def load_entry(node: MappingNode, context: EntryContext) -> UnlinkedFunction | None:
    """Function of an entry; None if the entry has a fault, which is reported."""
    builder = EntryBuilder(node, context)
    late: list[tuple[EntryField, Node]] = []
    names: set[str] = set()
    for key, value in node.entries:
        names.add(key.value)
        row = ROWS_BY_NAME.get(key.value)
        if row is None:
            row = context.fields.get(key.value)
            if row is not None:
                late.append((row, value))
            elif context.extra_keys is None or key.value not in context.extra_keys:
                _report_field(key, context, builder)
        elif row.is_late:
            late.append((context.fields.get(key.value, row), value))
        else:
            read_value = row.reader(value, builder)
            if read_value is not None and row.attribute:
                setattr(builder, row.attribute, read_value)
    for row, value in late:
        read_value = row.reader(value, builder)
        if read_value is not None and row.attribute:
            builder.set_field(row.attribute, read_value)
    if context.extra_keys is not None:
        _read_extra_keys(builder, context.extra_keys)
    if len(names) != len(node.entries) and node.duplicate_keys():
        builder.failed = True
        check_unique_keys(node, context.sink)
    return _build_function(builder)


def _report_field(key: Scalar, context: EntryContext, builder: EntryBuilder) -> None:
    if context.tree is not None and key.value in context.tree.fields:
        context.note_unread(key)
        return
    names = [*{**ROWS_BY_NAME, **context.fields}, *(() if context.extra_keys is None else context.extra_keys.names)]
    help: str | Suggestion = did_you_mean_key(key, builder.node, names)
    if key.value in context.head_names:
        help = f"write `{key.value}` in the head of the file, beside `operators`"
    builder.fault(codes.NATIVE_UNKNOWN_FIELD, f"unknown field `{key.value}`", key.span, help=help)


def _read_extra_keys(builder: EntryBuilder, extra_keys: ExtraKeys) -> None:
    """Read the values of the keys that plug-ins declare."""
    assert builder.context.releases is not None, "extra keys have values for releases"
    values = extra_keys.read(builder.node.entries, name_span(builder.node), builder.context.releases)
    if values is None:
        builder.failed = True
    else:
        builder.values = values


def _build_function(builder: EntryBuilder) -> UnlinkedFunction | None:
    schema = builder.schema
    if schema is None:
        if not builder.failed:
            builder.fault(codes.NO_SCHEMA, "the entry has no `func`", builder.node.span)
        return None
    kernels = build_kernels(builder, schema)
    if builder.ufunc:
        add_ufunc_kernels(kernels, builder, schema)
    tags = _build_tags(builder, schema)
    check_entry(builder, schema, kernels, tags)
    if builder.failed:
        return None
    builder.set_field("tags", tags)
    node = builder.node
    return UnlinkedFunction(
        builder,
        namespace=builder.namespace,
        schema=builder.internal_schema or schema,
        entry=Span(node.file, node.start, node.end),
        kernels=kernels,
        has_ignored_kernels=builder.has_ignored_kernels,
        library=builder.context.library,
        guest_fields=builder.context.make_guest_fields(**builder.guest_fields) if builder.guest_fields else None,
        values=builder.values,
    )


def _build_tags(builder: EntryBuilder, schema: FunctionSchema) -> frozenset[str]:
    """Tags of the entry, and those that follow from its schema if the release defines them.

    In-place operators of PyTorch have names that say so; those of libraries are what its tracing takes for one. Out
    overloads of libraries have no tag `out`: Inductor would call them in place of the functional overload, which
    fails in PyTorch 2.13 if sizes are symbols.
    """
    follows_conventions = builder.context.library.keeps_conventions
    is_out = schema.is_out and follows_conventions
    inplace = schema.name.inplace if follows_conventions else fits_inplace(schema)
    return _united_tags(builder.tags, builder.context.tags, builder.namespace == "aten", is_out, inplace)


# Many entries have the same tags.
@cache
def _united_tags(
    own: frozenset[str], defined: frozenset[str], in_aten: bool, is_out: bool, is_inplace: bool
) -> frozenset[str]:
    follows = {"pt2_compliant_tag": in_aten, "out": is_out, "inplace": is_inplace}
    return own.union([tag for tag, is_so in follows.items() if is_so and tag in defined])
