"""The JSON Schema of files for lazy tensors, for editors."""

from __future__ import annotations

from typing import Any, Final

from opwright.dialects.backend.json_schema import json_schema as backend_schema
from opwright.dialects.field import choice, list_of_schema, mapping_schema
from opwright.dialects.lazy.fields import LAZY_FIELDS, NODE_FIELDS
from opwright.dialects.lazy.loader import PROPERTIES

__all__ = ["json_schema"]

_NODE_SCHEMAS: Final = {"properties": list_of_schema(choice(*PROPERTIES))}


def json_schema() -> dict[str, object]:
    """The schema: that of backend files, with the fields that only lazy tensors need."""
    schema: dict[str, Any] = backend_schema()
    nodes = tuple([field._replace(schema=_NODE_SCHEMAS.get(field.name, field.schema)) for field in NODE_FIELDS])
    return {
        **schema,
        "title": "Lazy tensors for Opwright",
        "properties": {**schema["properties"], **{field.name: field.json_schema for field in LAZY_FIELDS}},
        "$defs": {**schema["$defs"], "node": mapping_schema(nodes)},
    }
