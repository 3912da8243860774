"""The fields of an entry of `deprecated.yaml`."""

from __future__ import annotations

from typing import Final

from opwright.dialects.field import TEXT, Field

__all__ = ["CALL", "DEPRECATED_FIELDS", "NAME"]

NAME: Final = "name"
CALL: Final = "aten"

DEPRECATED_FIELDS: Final = (
    Field(
        NAME, "schema", TEXT, "The deprecated signature, such as `add(Tensor self, Scalar alpha, Tensor other)`.", True
    ),
    Field(CALL, "call", TEXT, "The call that it stands for, such as `add(self, other, alpha)`.", True),
)
