"""Adds the keys that plug-ins declare to the JSON Schemas of input files."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from typing import TYPE_CHECKING, Any, Final, cast

from opwright.dialects.field import (
    BACKEND_ENTRY,
    BACKEND_HEAD,
    LIBRARY_ENTRY,
    NATIVE_FUNCTION,
    list_of_schema,
    mapping_schema,
)
from opwright.dialects.values import VERSION_FIELDS

if TYPE_CHECKING:
    from opwright.plugins.extra_keys import ExtraKey

#: Dialect -> the places of keys in its schema, each with the path to the schema of the mapping that has the keys.
_PLACES: Final[dict[str, dict[str, tuple[str | int, ...]]]] = {
    "backend": {
        BACKEND_HEAD: (),
        BACKEND_ENTRY: ("$defs", "backend_entry", "anyOf", 1, "additionalProperties"),
        LIBRARY_ENTRY: ("$defs", "entry"),
    },
    "library": {LIBRARY_ENTRY: ("$defs", "entry")},
    "native_functions": {NATIVE_FUNCTION: ("items",)},
}


def add_extra_keys(
    dialect: str, schema: Mapping[str, object], extra_keys: Mapping[str, tuple[ExtraKey, ...]]
) -> Mapping[str, object]:
    """Schema of a dialect with the keys that plug-ins declare for its files, each with its values."""
    places = {where: path for where, path in _PLACES.get(dialect, {}).items() if extra_keys.get(where)}
    if not places:
        return schema
    extended = cast("dict[str, Any]", deepcopy(dict(schema)))
    for where, path in places.items():
        part: Any = extended
        for step in path:
            part = part[step]
        for key in extra_keys[where]:
            part["properties"][key.name] = _property(key)
            if key.is_required:
                part.setdefault("required", []).append(key.name)
    return extended


def _property(key: ExtraKey) -> Mapping[str, object]:
    """Schema of a key's values: one for all releases, or one for each range of releases."""
    field = key.field
    value = field._replace(name="value", help="The value in these releases.", is_required=True)
    versions = mapping_schema((value, *VERSION_FIELDS[1:]))
    field_schema = field.json_schema
    help = {"description": field_schema.pop("description")} if field.help else {}
    return {**help, "anyOf": [field_schema, list_of_schema(versions)]}
