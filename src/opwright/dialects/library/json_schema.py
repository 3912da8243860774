"""The JSON Schema of library files, for editors and other programs that check files before Opwright does."""

from __future__ import annotations

from opwright.dialects.field import TEXT, JsonSchema, list_of_schema, mapping_schema
from opwright.dialects.library.fields import LIBRARY_FIELDS
from opwright.dialects.library.head import HEAD_FIELDS
from opwright.dialects.library.outputs import OUTPUT_FIELDS
from opwright.dialects.library.sections import COMMON_FIELDS, SECTION_FIELDS

__all__ = ["json_schema"]


def json_schema() -> dict[str, object]:
    """The schema: a mapping with the fields of a head, or a list of entries.

    It says which fields there are and what their values look like. Schemas, expressions and names are texts for it;
    Opwright checks those.
    """
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Operator library for Opwright",
        "anyOf": [{"$ref": "#/$defs/head"}, list_of_schema({"$ref": "#/$defs/item"})],
        "$defs": {
            "head": mapping_schema(HEAD_FIELDS),
            "item": {"anyOf": [{"$ref": "#/$defs/entry"}, {"$ref": "#/$defs/section"}]},
            "entry": mapping_schema((*COMMON_FIELDS, *LIBRARY_FIELDS)),
            "section": mapping_schema(SECTION_FIELDS),
            "outputs": _outputs(),
            "output": mapping_schema(OUTPUT_FIELDS),
            "expression": {
                "description": "An expression over the arguments, such as `like(self)`.",
                "anyOf": [TEXT, {"type": "integer"}, list_of_schema({"$ref": "#/$defs/expression"})],
            },
        },
    }


def _outputs() -> JsonSchema:
    """One output, a list with one for each result, or a mapping from the names of results."""
    forms = [{"$ref": "#/$defs/expression"}, {"$ref": "#/$defs/output"}]
    output = {"anyOf": forms}
    return {"anyOf": [*forms, list_of_schema(output), {"type": "object", "additionalProperties": output}]}
