"""The fields of an entry of `derivatives.yaml` that are not formulas."""

from __future__ import annotations

from typing import Final

from opwright.dialects.field import TEXT, Field, list_of_schema

__all__ = ["DERIVATIVE_FIELDS", "DIFFERENTIABILITY", "DISPATCH", "NAME"]

NAME: Final = "name"
DISPATCH: Final = "dispatch"
DIFFERENTIABILITY: Final = "output_differentiability"

DERIVATIVE_FIELDS: Final = (
    Field(NAME, "schema", TEXT, "The schema of the function that the formulas are for.", is_required=True),
    Field(
        DISPATCH,
        "mapping",
        {"type": "object", "additionalProperties": {"$ref": "#/$defs/formulas"}},
        "The formulas for each autograd key, in place of one set for all.",
    ),
    Field(
        DIFFERENTIABILITY,
        "list",
        list_of_schema({"type": ["boolean", "string"]}),
        "Whether each result is differentiable, or a C++ condition for the only one.",
    ),
)
