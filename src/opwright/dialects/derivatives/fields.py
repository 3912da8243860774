"""The fields of an entry of `derivatives.yaml` that are not formulas, and the JSON Schema of the file."""

from __future__ import annotations

from typing import Final

from opwright.dialects.field import TEXT, Field, dialect_schema, list_of_schema, mapping_schema

__all__ = ["DERIVATIVE_FIELDS", "DIFFERENTIABILITY", "DISPATCH", "NAME", "json_schema"]

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


def json_schema() -> dict[str, object]:
    """The schema: a list of entries. Formulas and the names of what they are for are texts; Opwright checks those."""
    differentiability = tuple([field for field in DERIVATIVE_FIELDS if field.name == DIFFERENTIABILITY])
    return dialect_schema(
        "Derivatives of operators of PyTorch",
        list_of_schema(mapping_schema(DERIVATIVE_FIELDS, has_others=TEXT)),
        formulas=mapping_schema(differentiability, has_others=TEXT),
    )
