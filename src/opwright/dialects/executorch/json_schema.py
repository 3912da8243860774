"""The JSON Schema of ExecuTorch's files of operators, for editors."""

from __future__ import annotations

from opwright.dialects.executorch.fields import ENTRY_FIELDS
from opwright.dialects.field import dialect_schema, list_of_schema, mapping_schema
from opwright.dialects.native_functions.fields import ENTRY_FIELDS as NATIVE_FIELDS

__all__ = ["json_schema"]


def json_schema() -> dict[str, object]:
    """The schema: a list of entries. Schemas and names are texts for it; Opwright checks those."""
    native = tuple([field._replace(is_required=False) for field in NATIVE_FIELDS])
    return dialect_schema("Operators of ExecuTorch", list_of_schema(mapping_schema(native + ENTRY_FIELDS)))
