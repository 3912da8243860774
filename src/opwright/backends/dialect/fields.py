"""Fields of backend files as a JSON Schema, for editors and programs that check files before Opwright does."""

from __future__ import annotations

from typing import Final, cast

from opwright.backends.dialect.entry_fields import ENTRY_FIELDS, LASTING_FIELDS
from opwright.backends.dialect.head_fields import HEAD_FIELDS
from opwright.dialects.field import TEXT, Field, list_of_schema, mapping_schema
from opwright.dialects.values import VERSION_FIELDS
from opwright.libraries.dialect.fields import json_schema as library_schema


def json_schema() -> dict[str, object]:
    """Schema: a mapping with the fields of a head, among them the sections with their entries.

    It says which fields there are and what their values look like. Schemas, names and C++ are texts for it; Opwright
    checks those.
    """
    definitions = cast("dict[str, object]", library_schema()["$defs"])
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Backend for Opwright",
        **mapping_schema(HEAD_FIELDS),
        "$defs": {
            "backend_entry": {"anyOf": [TEXT, {"type": "object", "additionalProperties": _OPTIONS}]},
            # The own operators of a backend are entries of a library file.
            **{name: definition for name, definition in definitions.items() if name != "head"},
        },
    }


def _option(field: Field) -> Field:
    """Option, with one value or with values for ranges of releases."""
    if field in LASTING_FIELDS:
        return field
    value = Field("value", field.values, field.schema, "The value in these releases.", is_required=True)
    versions = list_of_schema(mapping_schema((value, *VERSION_FIELDS[1:])))
    return field._replace(schema={"anyOf": [field.schema, versions]})


_OPTIONS: Final = mapping_schema(tuple(map(_option, ENTRY_FIELDS)))
