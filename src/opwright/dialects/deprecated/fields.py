"""The fields of an entry of `deprecated.yaml`, and the JSON Schema of the file."""

from __future__ import annotations

from typing import Final

from opwright.dialects.field import TEXT, Field, dialect_schema, list_of_schema, mapping_schema

__all__ = ["CALL", "DEPRECATED_FIELDS", "NAME", "json_schema"]

NAME: Final = "name"
CALL: Final = "aten"

DEPRECATED_FIELDS: Final = (
    Field(
        NAME, "schema", TEXT, "The deprecated signature, such as `add(Tensor self, Scalar alpha, Tensor other)`.", True
    ),
    Field(CALL, "call", TEXT, "The call that it stands for, such as `add(self, other, alpha)`.", True),
)


def json_schema() -> dict[str, object]:
    """The schema: a list of deprecated signatures. Signatures and calls are texts for it; Opwright checks those."""
    entries = list_of_schema(mapping_schema(DEPRECATED_FIELDS))
    return dialect_schema("Deprecated Python signatures of operators of PyTorch", entries)
