"""The JSON Schema of `tags.yaml`, for editors."""

from __future__ import annotations

from opwright.dialects.field import dialect_schema, list_of_schema, mapping_schema
from opwright.dialects.tags.fields import TAG_FIELDS

__all__ = ["json_schema"]


def json_schema() -> dict[str, object]:
    """The schema: a list of tags."""
    return dialect_schema("Tags of operators of PyTorch", list_of_schema(mapping_schema(TAG_FIELDS)))
