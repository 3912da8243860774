"""The JSON Schema of `native_functions.yaml`, for editors."""

from __future__ import annotations

from opwright.dialects.field import dialect_schema, list_of_schema, mapping_schema
from opwright.dialects.native_functions.fields import ENTRY_FIELDS

__all__ = ["json_schema"]


def json_schema() -> dict[str, object]:
    """The schema: a list of entries. Schemas and names are texts for it; Opwright checks those."""
    return dialect_schema("Operators of PyTorch", list_of_schema(mapping_schema(ENTRY_FIELDS)))
