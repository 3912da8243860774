"""The JSON Schema of dumps."""

from __future__ import annotations

from opwright.dialects.field import mapping_schema
from opwright.dump.fields import FORMAT, RECORDS

__all__ = ["json_schema"]


def json_schema() -> dict[str, object]:
    """The schema: the whole document, with a definition for each kind of record."""
    definitions = {name: mapping_schema(fields) for name, fields in RECORDS.items() if name != "dump"}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"Dump of operators by Opwright, format {FORMAT}",
        **mapping_schema(RECORDS["dump"]),
        "$defs": definitions,
    }
