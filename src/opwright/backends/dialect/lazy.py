"""Loads backend files with lazy tensors; their fields besides those of backend files, and the JSON Schema."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from opwright.backends import backend_codes
from opwright.backends.choices import LazyNames
from opwright.backends.dialect import loader as backend_loader
from opwright.backends.dialect.tolerated import has_operators
from opwright.backends.lazy_backend import (
    NON_NATIVE_PROPERTIES,
    LazyBackend,
    NodeEntry,
    NodeMember,
    NodeProperties,
    NodeShape,
    NonNativeNode,
)
from opwright.backends.rows import BACKEND
from opwright.dialects.dialect import LoadContext
from opwright.dialects.field import TEXT, Field, choice, list_of_schema, mapping_schema
from opwright.schema.parser import expect_schema
from opwright.source.diagnostic import Diagnostics, Fault, did_you_mean
from opwright.source.expect import check_unique_keys, expect_sequence, expect_string
from opwright.source.nodes import MappingNode, Node, Scalar, SequenceNode, did_you_mean_key
from opwright.source.text import SourceFile
from opwright.source.yaml import load_yaml

#: Name of a property -> the properties that a node has with it instead of others.
PROPERTIES: Final[dict[str, dict[str, Any]]] = {
    "ShapePrecompute": {"shape": NodeShape.precomputed},
    "ShapeCompute": {"shape": NodeShape.computed},
    "ShapeCache": {"shape": NodeShape.cached},
    "Lower": {"lower": NodeMember.defined},
    "LowerDeclOnly": {"lower": NodeMember.declared},
    "CanBeReused": {"reuse": NodeMember.defined},
    "CanBeReusedDeclOnly": {"reuse": NodeMember.declared},
    "CreateFn": {"create": NodeMember.defined},
    "CreateFnDeclOnly": {"create": NodeMember.declared},
    "TreatScalarsAsConstants": {"constant_scalars": True},
}

_NAMES: Final = list_of_schema(TEXT)

#: The fields of an entry of `non_native`.
NODE_FIELDS: Final = (
    Field("func", "schema", TEXT, "The schema that the node follows.", is_required=True),
    Field("opkind", "C++", TEXT, "The kind of the node as a C++ expression; by default the operator's symbol."),
    Field(
        "properties",
        "list of names",
        list_of_schema(choice(*PROPERTIES)),
        "Which functions the node has, and where its shape comes from.",
    ),
)
LAZY_FIELDS: Final = (
    Field("full_codegen", "list of names", _NAMES, "Operators whose kernels and nodes are generated."),
    Field("ir_gen", "list of names", _NAMES, "Operators whose nodes are generated, without kernels."),
    Field(
        "non_native",
        "list",
        list_of_schema({"$ref": "#/$defs/node"}),
        "Nodes that stand for no operator of PyTorch.",
    ),
)


def json_schema() -> dict[str, object]:
    """Schema: that of backend files, with the fields that only lazy tensors need."""
    schema: dict[str, Any] = BACKEND.module("fields").json_schema()
    return {
        **schema,
        "title": "Lazy tensors for Opwright",
        "properties": {**schema["properties"], **{field.name: field.json_schema for field in LAZY_FIELDS}},
        "$defs": {**schema["$defs"], "node": mapping_schema(NODE_FIELDS)},
    }


_NODE_FIELDS: Final = [field.name for field in NODE_FIELDS]


def load(files: Sequence[SourceFile], context: LoadContext) -> tuple[LazyBackend, ...]:
    """Backends of the files, in their order. Faults go to the sink of the context."""
    backends = tuple([backend for file in files if (backend := _load_file(file, context)) is not None])
    path = None if context.choices is None else context.choices.of(LazyNames).shape_header
    if path is None:
        return backends
    try:
        header = context.read_file(path)
    except Fault as fault:
        context.sink.add(fault.diagnostic)
        return backends
    return tuple([backend.replace(shape_header=header) for backend in backends])


def _load_file(file: SourceFile, context: LoadContext) -> LazyBackend | None:
    """Backend of a file; None if its fields cannot be read."""
    file_sink = Diagnostics()
    backends = backend_loader.load([file], context._replace(sink=file_sink))
    # Graphs of lazy tensors have nodes for composite operators, as those of PyTorch's backend do.
    context.sink.extend([fault for fault in file_sink if fault.code != backend_codes.COMPOSITE_OVERRIDE_WARNING])
    root = load_yaml(file)
    if not isinstance(root, MappingNode):
        return None
    sink = context.sink
    generated = {item.value for item in _items(root, "full_codegen", sink) if isinstance(item, Scalar)}
    nodes = [_node_entry(item, context) for item in _items(root, "ir_gen", sink)]
    non_native = [_non_native_node(item, context) for item in _items(root, "non_native", sink)]
    if not has_operators(root):
        place = root.get("full_codegen") or root.get("supported") or root
        sink.error(
            backend_codes.LAZY_NO_OPERATORS, "the file has no operators for the backend's dispatch key", place.span
        )
    supported = backends[0].section("supported") if backends else None
    if supported is None:
        return None
    entry = root.entry("class_name")
    if entry is not None:
        sink.warning(backend_codes.CLASS_NAME_IGNORED, "`class_name` has no effect on lazy tensors", entry[0].span)
    return LazyBackend(
        # Lazy tensors always have the same class.
        backends[0].replace(class_name=None),
        tuple([entry for entry in supported.entries if entry.function.name.text in generated]),
        tuple([entry for entry in nodes if entry is not None]),
        tuple([node for node in non_native if node is not None]),
    )


def _items(root: MappingNode, name: str, sink: Diagnostics) -> Sequence[Node]:
    node = root.get(name)
    items: SequenceNode | None = None if node is None else expect_sequence(node, f"`{name}`", sink)
    return () if items is None else items.items


def _node_entry(node: Node, context: LoadContext) -> NodeEntry | None:
    """Function that an item of `ir_gen` names."""
    name = expect_string(node, "an item of `ir_gen`", context.sink)
    catalog = context.operators
    if name is None:
        return None
    if name.value in catalog and "::" not in name.value:
        return NodeEntry(catalog[name.value], name.span)
    if not catalog.may_lack(name.value):
        help = did_you_mean(name.value, [function.name.text for function in catalog.functions])
        message = f"there is no operator `{name.value}`"
        if context.tolerant:
            context.sink.warning(backend_codes.UNKNOWN_NODE_WARNING, message, name.span, help=help)
        else:
            context.sink.error(backend_codes.UNKNOWN_NODE, message, name.span, help=help)
    return None


def _non_native_node(node: Node, context: LoadContext) -> NonNativeNode | None:
    """Node of an entry of `non_native`; None if it cannot be read."""
    sink = context.sink
    if not isinstance(node, MappingNode):
        message = f"the entry is {node.description}, not a mapping with `func`"
        sink.error(backend_codes.NON_NATIVE_SHAPE, message, node.span)
        return None
    check_unique_keys(node, sink)
    _check_fields(node, context)
    func = node.get("func")
    if func is None:
        sink.error(backend_codes.NON_NATIVE_SHAPE, "the entry has no `func`", node.span)
        return None
    text = expect_string(func, "`func`", sink)
    schema = None if text is None else expect_schema(text, sink)
    properties = _properties(node.get("properties"), sink)
    if text is None or schema is None or properties is None:
        return None
    return NonNativeNode(schema, _op_kind(node.get("opkind"), context), properties, text.span)


def _op_kind(node: Node | None, context: LoadContext) -> str:
    """Kind of a node as a C++ expression; empty if the entry has none."""
    if node is None:
        return ""
    if context.tolerant and isinstance(node, Scalar) and node.kind != "str":
        value = "" if node.kind == "null" else str(node.python_value())
        message = f"`opkind` is {node.description}, not a text"
        context.sink.warning(backend_codes.TAKEN_VALUE, message, node.span)
        return value
    text = expect_string(node, "`opkind`", context.sink)
    return "" if text is None else text.value


def _check_fields(node: MappingNode, context: LoadContext) -> None:
    for key, _ in node.entries:
        if key.value in _NODE_FIELDS:
            continue
        message, help = f"unknown field `{key.value}`", did_you_mean_key(key, node, _NODE_FIELDS)
        if context.tolerant:
            context.sink.warning(backend_codes.LAZY_UNKNOWN_FIELD_WARNING, message, key.span, help=help)
        else:
            context.sink.error(backend_codes.LAZY_UNKNOWN_FIELD, message, key.span, help=help)


def _properties(node: Node | None, sink: Diagnostics) -> NodeProperties | None:
    """Properties of a node, of which later ones replace earlier ones; None if one is unknown."""
    properties = NON_NATIVE_PROPERTIES
    names = None if node is None else expect_sequence(node, "`properties`", sink)
    if names is None:
        return properties if node is None else None
    for item in names.items:
        name = expect_string(item, "a property", sink)
        if name is None:
            return None
        if name.value not in PROPERTIES:
            help = did_you_mean(name.value, PROPERTIES)
            sink.error(backend_codes.UNKNOWN_PROPERTY, f"there is no property `{name.value}`", name.span, help=help)
            return None
        properties = properties._replace(**PROPERTIES[name.value])
    return properties
