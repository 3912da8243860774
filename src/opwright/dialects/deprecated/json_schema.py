"""The JSON Schema of `deprecated.yaml`, for editors."""

from __future__ import annotations

from opwright.dialects.deprecated.fields import DEPRECATED_FIELDS
from opwright.dialects.field import dialect_schema, list_of_schema, mapping_schema

__all__ = ["json_schema"]


def json_schema() -> dict[str, object]:
    """The schema: a list of deprecated signatures. Signatures and calls are texts for it; Opwright checks those."""
    entries = list_of_schema(mapping_schema(DEPRECATED_FIELDS))
    return dialect_schema("Deprecated Python signatures of operators of PyTorch", entries)
