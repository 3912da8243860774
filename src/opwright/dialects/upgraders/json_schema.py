"""The JSON Schema of bytecode files, for editors."""

from __future__ import annotations

from opwright.dialects.field import dialect_schema, mapping_schema
from opwright.dialects.upgraders.fields import FILE_FIELDS

__all__ = ["json_schema"]


def json_schema() -> dict[str, object]:
    """The schema: upgraders, and the operators that need them. Opwright checks what operands and names refer to."""
    return dialect_schema("Bytecode of upgraders for Opwright", mapping_schema(FILE_FIELDS))
