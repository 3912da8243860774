"""Descriptions as JSON, for build systems that Opwright does not know, and the JSON Schema of them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from opwright.builds.actions.description import PACKAGES, WordPlace
from opwright.dialects.field import TEXT, Field, dialect_schema, list_of_schema, mapping_schema

if TYPE_CHECKING:
    from opwright.builds.actions.description import Action, Description, Word

#: The version of the form of descriptions.
FORMAT: Final = 1

_TEXTS: Final = list_of_schema(TEXT)
_ACTION: Final = (
    Field("name", "", TEXT, "The name of the action: the number of the shard.", is_required=True),
    Field(
        "arguments",
        "",
        _TEXTS,
        "The arguments after `opwright`. `{torch}` at the beginning of one stands for the folder with PyTorch's "
        "inputs, and `{out}` for the output folder; other paths are relative to the working folder.",
        is_required=True,
    ),
    Field("files", "", _TEXTS, "The inputs that are relative to the working folder.", is_required=True),
    Field("torch_files", "", _TEXTS, "The inputs that are relative to `{torch}`.", is_required=True),
    Field("outputs", "", _TEXTS, "The outputs, relative to `{out}`. The action writes nothing else.", is_required=True),
)
_DESCRIPTION: Final = (
    Field("format", "", {"enum": [FORMAT]}, "The version of the form of the document.", is_required=True),
    Field("opwright", "", TEXT, "The version of Opwright.", is_required=True),
    Field(
        "python_packages",
        "",
        _TEXTS,
        "The Python packages that an action imports, besides the standard library: inputs of every action.",
        is_required=True,
    ),
    Field(
        "torch", "", {"type": ["string", "null"]}, "The folder that `{torch}` stood for; null if no action needs it."
    ),
    Field("actions", "", list_of_schema({"$ref": "#/$defs/action"}), "The actions.", is_required=True),
)


def json_schema() -> dict[str, object]:
    """The schema of what `opwright generate --describe json` prints."""
    return dialect_schema(
        f"Actions of a generation by Opwright, format {FORMAT}",
        mapping_schema(_DESCRIPTION),
        action=mapping_schema(_ACTION),
    )


def json_text(description: Description) -> str:
    """A description as JSON. `json_schema` is the schema."""
    document = {
        "format": FORMAT,
        "opwright": description.version,
        "python_packages": list(PACKAGES),
        "torch": description.torch_root,
        "actions": [_action(action) for action in description.actions],
    }
    return json.dumps(document, indent=1) + "\n"


def _action(action: Action) -> dict[str, object]:
    return {
        "name": action.name,
        "arguments": ["generate", "--out", "{out}", *map(_argument, action.words)],
        "files": list(action.files),
        "torch_files": list(action.torch_files),
        "outputs": list(action.outputs),
    }


def _argument(word: Word) -> str:
    return f"{{torch}}/{word.text}" if word.place is WordPlace.TORCH else word.text
