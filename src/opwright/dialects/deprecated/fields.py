"""The fields of an entry of `deprecated.yaml`, the JSON Schema of the file, and what the text of an entry tells."""

from __future__ import annotations

import re
from typing import Final

from opwright.dialects.field import TEXT, Field, dialect_schema, list_of_schema, mapping_schema

__all__ = ["CALL", "DEPRECATED_FIELDS", "NAME", "json_schema", "operator_of"]

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


_CALLED: Final = re.compile(r"name: .*\n  aten: (\w+?)(?:_out)?\(")


def operator_of(item: str) -> str | None:
    """The operator that an item calls, told from its text; None if the item does not begin in the usual way.

    >>> operator_of("name: add(Tensor self, Scalar alpha, Tensor other) -> Tensor\\n  aten: add(self, other, alpha)")
    'add'
    """
    match = _CALLED.match(item)
    return None if match is None else match[1]
