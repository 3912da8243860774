"""Fields of input files as data: what documentation and JSON Schemas say of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, TypeAlias

from opwright.source.codes import NAMED_BY_FILE
from opwright.source.diagnostic import Diagnostics
from opwright.source.lazy import lazy_pattern
from opwright.source.records import NamedTuple
from opwright.source.span import Span

# The places of input files where plug-ins can declare fields of their own.
BACKEND_ENTRY: Final = "backend entry"
BACKEND_HEAD: Final = "backend head"
LIBRARY_ENTRY: Final = "library entry"
NATIVE_FUNCTION: Final = "native function"
PLACES: Final = (BACKEND_ENTRY, BACKEND_HEAD, LIBRARY_ENTRY, NATIVE_FUNCTION)

#: A JSON Schema, or a part of one.
JsonSchema: TypeAlias = Mapping[str, object]


#: A link to a section of the page of a dialect.
_LINK: Final = lazy_pattern(r"\[([^]]*)\]\(#[^)]*\)")

#: A key that no head has: code is named on the command line, by builds and by installed packages, never by data.
PLUGINS: Final = "plugins"


def report_plugins(at: Span, sink: Diagnostics) -> None:
    """Report a file that names plug-ins."""
    help = "name them with `--plugin NAME`, or as `plugins` of `opwright.setuptools`"
    sink.error(NAMED_BY_FILE, "files name no plug-ins", at, help=help)


class Field(NamedTuple):
    """A field: its name, a short name of its values, the JSON Schema of its values, and a sentence for users.

    >>> Field("doc", "text", TEXT, "What the operator does.").json_schema["description"]
    'What the operator does.'
    """

    name: str
    values: str
    schema: JsonSchema
    help: str
    is_required: bool = False

    @property
    def json_schema(self) -> dict[str, object]:
        """The JSON Schema of the values, with the sentence as its description."""
        return {"description": _LINK.sub(r"\1", self.help), **self.schema} if self.help else dict(self.schema)


TEXT: Final[JsonSchema] = {"type": "string"}
FLAG: Final[JsonSchema] = {"type": "boolean"}
TEXTS: Final[JsonSchema] = {"anyOf": [TEXT, {"type": "array", "items": TEXT}]}


def choice(*values: str) -> JsonSchema:
    """Schema of a text that is one of some words."""
    return {"enum": list(values)}


def list_of_schema(items: JsonSchema) -> JsonSchema:
    """Schema of a list."""
    return {"type": "array", "items": items}


def dialect_schema(title: str, schema: JsonSchema, **definitions: JsonSchema) -> dict[str, object]:
    """Schema of a kind of file, with the definitions that it refers to."""
    draft = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": title}
    return {**draft, **schema, **({"$defs": definitions} if definitions else {})}


def mapping_schema(fields: tuple[Field, ...], *, has_others: bool | JsonSchema = False) -> dict[str, object]:
    """Schema of a mapping with these fields; without others unless `has_others`, which may be their schema."""
    schema: dict[str, object] = {
        "type": "object",
        "properties": {field.name: field.json_schema for field in fields},
        "additionalProperties": has_others,
    }
    required = [field.name for field in fields if field.is_required]
    return {**schema, "required": required} if required else schema


#: The field with the entries of a library file.
OPERATORS: Final = "operators"

#: The fields of the head of a library file that say what its operators are, so that the head of a backend file has them
#: too, for operators of the backend's own.
OWN_OPERATOR_FIELDS: Final = (
    Field("namespace", "text", TEXT, "The namespace of the operators, for entries that name none."),
    Field("doc", "text", TEXT, "What the library is for: the documentation of its Python module."),
    Field("python_package", "text", TEXT, "The Python package of the library; without it, the namespace."),
    Field("derivatives", "path", TEXT, "The file with the derivatives, relative to the library file."),
    Field("derivative_includes", "list of texts", TEXTS, "Headers with the functions that derivatives call."),
    Field(
        OPERATORS,
        "list of entries",
        list_of_schema({"$ref": "#/$defs/item"}),
        "The operators, or sections of them.",
        is_required=True,
    ),
)
