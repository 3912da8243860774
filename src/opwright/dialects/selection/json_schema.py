"""The JSON Schema of selections of operators, for editors."""

from __future__ import annotations

from opwright.dialects.field import dialect_schema, mapping_schema
from opwright.dialects.selection.fields import OPERATOR_FIELDS, SELECTION_FIELDS

__all__ = ["json_schema"]


def json_schema() -> dict[str, object]:
    """The schema: a mapping with the fields of a selection. Names are texts for it; Opwright checks those."""
    operator = mapping_schema(OPERATOR_FIELDS)
    return dialect_schema("Selection of operators of PyTorch", mapping_schema(SELECTION_FIELDS), operator=operator)
