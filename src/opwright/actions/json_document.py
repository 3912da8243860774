"""Descriptions as JSON, for build systems that Opwright does not know."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from opwright.actions.description import PACKAGES, WordPlace
from opwright.actions.json_schema import FORMAT

if TYPE_CHECKING:
    from opwright.actions.description import Action, Description, Word

__all__ = ["json_text"]


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
