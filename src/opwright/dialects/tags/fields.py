"""The fields of a tag in `tags.yaml`."""

from __future__ import annotations

from typing import Final

from opwright.dialects.field import TEXT, Field

__all__ = ["TAG_FIELDS"]

TAG_FIELDS: Final = (
    Field("tag", "text", TEXT, "The name of the tag, an identifier.", is_required=True),
    Field("desc", "text", TEXT, "What operators with the tag have in common.", is_required=True),
)
