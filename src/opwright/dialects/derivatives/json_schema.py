"""The JSON Schema of `derivatives.yaml`, for editors."""

from __future__ import annotations

from opwright.dialects.derivatives.fields import DERIVATIVE_FIELDS, DIFFERENTIABILITY
from opwright.dialects.field import TEXT, dialect_schema, list_of_schema, mapping_schema

__all__ = ["json_schema"]


def json_schema() -> dict[str, object]:
    """The schema: a list of entries. Formulas and the names of what they are for are texts; Opwright checks those."""
    differentiability = tuple([field for field in DERIVATIVE_FIELDS if field.name == DIFFERENTIABILITY])
    return dialect_schema(
        "Derivatives of operators of PyTorch",
        list_of_schema(mapping_schema(DERIVATIVE_FIELDS, has_others=TEXT)),
        formulas=mapping_schema(differentiability, has_others=TEXT),
    )
