"""The JSON Schema of comparisons."""

from __future__ import annotations

from typing import Final

from opwright.dialects.field import FLAG, TEXT, Field, choice, dialect_schema, list_of_schema, mapping_schema
from opwright.diff.backend import TaskKind
from opwright.diff.formats.data import FORMAT
from opwright.diff.records import Audience, ChangeKind

__all__ = ["json_schema"]

_NUMBER: Final = {"type": "integer"}
_AUDIENCES: Final = list_of_schema(choice(*[audience.name for audience in Audience]))
_OPTIONAL_TEXT: Final = {"type": ["string", "null"]}

_REASON: Final = (
    Field("text", "", TEXT, "What differs, in a few words.", is_required=True),
    Field("breaks", "", _AUDIENCES, "Whom this breaks.", is_required=True),
)
_CHANGE: Final = (
    Field("name", "", TEXT, "The operator, without `aten::`.", is_required=True),
    Field("kind", "", choice(*[kind.name for kind in ChangeKind]), "What happened to it.", is_required=True),
    Field("private", "", FLAG, "Whether its name begins with `_`.", is_required=True),
    Field("old", "", _OPTIONAL_TEXT, "The old schema.", is_required=True),
    Field("new", "", _OPTIONAL_TEXT, "The new schema.", is_required=True),
    Field("breaks", "", _AUDIENCES, "Whom the change breaks.", is_required=True),
    Field("reasons", "", list_of_schema({"$ref": "#/$defs/reason"}), "What differs.", is_required=True),
    Field("similar", "", list_of_schema(TEXT), "Added operators with the same arguments.", is_required=True),
)
_TASK: Final = (
    Field("kind", "", choice(*[kind.name for kind in TaskKind]), "The kind of work.", is_required=True),
    Field("operator", "", TEXT, "The operator.", is_required=True),
    Field("message", "", TEXT, "What is wrong.", is_required=True),
    Field("help", "", TEXT, "What to write instead.", is_required=True),
    Field("line", "", _NUMBER, "The line in the backend file, 0 without one.", is_required=True),
)
_COUNTS: Final = tuple(Field(kind.name, "", _NUMBER, "", is_required=True) for kind in ChangeKind)
_BROKEN: Final = tuple(Field(audience.name, "", _NUMBER, audience.value, is_required=True) for audience in Audience)
_SUMMARY: Final = (*_COUNTS, Field("breaks", "", mapping_schema(_BROKEN), "How many changes break whom.", True))
_COMPARISON: Final = (
    Field("format", "", {"enum": [FORMAT]}, "The version of the form of the document.", is_required=True),
    Field("old", "", TEXT, "What was compared.", is_required=True),
    Field("new", "", TEXT, "What it was compared with.", is_required=True),
    Field("summary", "", mapping_schema(_SUMMARY), "How many changes there are.", is_required=True),
    Field("changes", "", list_of_schema({"$ref": "#/$defs/change"}), "The operators that differ.", is_required=True),
    Field("backend", "", list_of_schema({"$ref": "#/$defs/task"}), "What the backend has to do, with `--backend`."),
)


def json_schema() -> dict[str, object]:
    """The schema of what `opwright diff --format json` prints."""
    return dialect_schema(
        f"Comparison of operators by Opwright, format {FORMAT}",
        mapping_schema(_COMPARISON),
        change=mapping_schema(_CHANGE),
        reason=mapping_schema(_REASON),
        task=mapping_schema(_TASK),
    )
