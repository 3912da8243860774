"""The fields of a tag in `tags.yaml`, and the JSON Schema of the file."""

from __future__ import annotations

from typing import Final

from opwright.dialects.field import TEXT, Field, dialect_schema, list_of_schema, mapping_schema

__all__ = ["TAG_FIELDS", "json_schema"]

TAG_FIELDS: Final = (
    Field("tag", "text", TEXT, "The name of the tag, an identifier.", is_required=True),
    Field("desc", "text", TEXT, "What operators with the tag have in common.", is_required=True),
)


def json_schema() -> dict[str, object]:
    """The schema: a list of tags."""
    return dialect_schema("Tags of operators of PyTorch", list_of_schema(mapping_schema(TAG_FIELDS)))
