"""The fields of files for lazy tensors besides those of backend files, and the JSON Schema of the files."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from opwright.dialects.field import TEXT, Field, choice, list_of_schema, mapping_schema
from opwright.model.lazy_backend import NodeMember, NodeProperties, NodeShape

__all__ = ["LAZY_FIELDS", "NODE_FIELDS", "PROPERTIES", "json_schema"]

#: Name of a property -> the properties that a node has with it instead of others.
PROPERTIES: Final[dict[str, Callable[[NodeProperties], NodeProperties]]] = {
    "ShapePrecompute": lambda properties: properties._replace(shape=NodeShape.precomputed),
    "ShapeCompute": lambda properties: properties._replace(shape=NodeShape.computed),
    "ShapeCache": lambda properties: properties._replace(shape=NodeShape.cached),
    "Lower": lambda properties: properties._replace(lower=NodeMember.defined),
    "LowerDeclOnly": lambda properties: properties._replace(lower=NodeMember.declared),
    "CanBeReused": lambda properties: properties._replace(reuse=NodeMember.defined),
    "CanBeReusedDeclOnly": lambda properties: properties._replace(reuse=NodeMember.declared),
    "CreateFn": lambda properties: properties._replace(create=NodeMember.defined),
    "CreateFnDeclOnly": lambda properties: properties._replace(create=NodeMember.declared),
    "TreatScalarsAsConstants": lambda properties: properties._replace(constant_scalars=True),
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
    """The schema: that of backend files, with the fields that only lazy tensors need."""
    from opwright.dialects.backend.fields import json_schema as backend_schema  # Loading needs less.

    schema: dict[str, Any] = backend_schema()
    return {
        **schema,
        "title": "Lazy tensors for Opwright",
        "properties": {**schema["properties"], **{field.name: field.json_schema for field in LAZY_FIELDS}},
        "$defs": {**schema["$defs"], "node": mapping_schema(NODE_FIELDS)},
    }
