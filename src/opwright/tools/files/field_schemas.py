"""What the JSON Schema of a dialect says of the fields and values at a path in a file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, Final

from opwright.dialects.dialect import Dialect
from opwright.plugins.active import ACTIVE
from opwright.plugins.extra_key_schemas import add_extra_keys
from opwright.plugins.plugin import Plugin
from opwright.source.records import NamedTuple

_ALTERNATIVES: Final = ("anyOf", "oneOf", "allOf")


class FieldSchema(NamedTuple):
    """A field that a mapping may have: its name, and a sentence about it."""

    name: str
    help: str


@cache
def _schema(dialect: Dialect[Any], _plugins: tuple[Plugin, ...]) -> Mapping[str, Any]:
    """Schema of a dialect with the keys of the active plug-ins."""
    return add_extra_keys(dialect.name, dialect.schema() or {}, ACTIVE.extra_keys)


def _alternatives(start: Mapping[str, Any], root: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Schemas that a value may follow: all alternatives, and those of the items of lists, which may nest."""
    schemas: dict[int, Mapping[str, Any]] = {}
    waiting = [start]
    while waiting:
        schema = waiting.pop()
        if id(schema) in schemas:
            continue
        schemas[id(schema)] = schema
        parts = [_definition(schema["$ref"], root)] if "$ref" in schema else []
        parts += [part for key in _ALTERNATIVES for part in schema.get(key, ())]
        parts += [schema["items"]] if isinstance(schema.get("items"), dict) else []
        waiting += reversed(parts)
    return list(schemas.values())


def _definition(reference: str, root: Mapping[str, Any]) -> Mapping[str, Any]:
    definition = root
    for name in reference.removeprefix("#/").split("/"):
        definition = definition[name]
    return definition


def _at(dialect: Dialect[Any], path: tuple[str, ...]) -> list[Mapping[str, Any]]:
    """Schemas that the value at a path may follow."""
    root = _schema(dialect, ACTIVE.plugins)
    schemas = _alternatives(root, root)
    for key in path:
        below: list[Mapping[str, Any]] = []
        for schema in schemas:
            part = schema.get("properties", {}).get(key, schema.get("additionalProperties"))
            if isinstance(part, dict):
                below += _alternatives(part, root)
        schemas = below
    return schemas


def fields_at(dialect: Dialect[Any], path: tuple[str, ...]) -> list[FieldSchema]:
    """Fields of a mapping at a path.

    >>> from opwright.dialects.table import NATIVE_FUNCTIONS
    >>> fields_at(NATIVE_FUNCTIONS, ())[0]
    FieldSchema(name='func', help='The schema of the overload: name, arguments, results.')
    """
    fields: dict[str, str] = {}
    for schema in _at(dialect, path):
        for name, part in schema.get("properties", {}).items():
            # A field of several forms is described in one of them.
            fields[name] = fields.get(name) or (part.get("description", "") if isinstance(part, dict) else "")
    return [FieldSchema(name, help) for name, help in fields.items()]


def field_order(dialect: Dialect[Any], path: tuple[str, ...], keys: Sequence[str]) -> Sequence[str]:
    """Fields of the mapping at a path that has some keys, in their order in the documentation.

    >>> from opwright.libraries.rows import LIBRARY
    >>> field_order(LIBRARY, ("operators",), ["operators", "if"])
    ['if', 'dispatch', 'tags', 'operators']
    """
    forms = [list(schema.get("properties", ())) for schema in _at(dialect, path)]
    return max(forms, key=lambda fields: len({*keys}.intersection(fields)), default=[])


def values_at(dialect: Dialect[Any], path: tuple[str, ...]) -> list[str]:
    """Values that a field may have, as far as they are known.

    >>> from opwright.dialects.table import NATIVE_FUNCTIONS
    >>> values_at(NATIVE_FUNCTIONS, ("device_check",)), values_at(NATIVE_FUNCTIONS, ("device_guard",))
    (['NoCheck', 'ExactSame'], ['true', 'false'])
    """
    values: dict[str, None] = {}
    for schema in _at(dialect, path):
        values |= dict.fromkeys([value for value in schema.get("enum", ()) if isinstance(value, str)])
        if schema.get("type") == "boolean":
            values |= {"true": None, "false": None}
    return list(values)
