"""Whether values fit JSON Schemas, as far as Opwright's schemas go."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

#: The Python types of the types of JSON.
TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "boolean": (bool,),
    "integer": (int,),
    "number": (int, float),
    "array": (list,),
    "object": (dict,),
}
KEYWORDS = {"$schema", "$defs", "title", "description", "anyOf", "$ref", "type", "enum"}


def fits(root: Mapping[str, object], value: object, schema: Mapping[str, object] | None = None) -> bool:
    """Whether a value fits a part of a schema, or all of it; only the keywords that Opwright uses are known."""
    own = root if schema is None else schema
    assert set(own) <= {*KEYWORDS, "properties", "required", "additionalProperties", "items"}
    if "$ref" in own:
        definitions = cast("dict[str, Mapping[str, object]]", root["$defs"])
        if not fits(root, value, definitions[str(own["$ref"]).removeprefix("#/$defs/")]):
            return False
    if "anyOf" in own:
        choices = cast("Sequence[Mapping[str, object]]", own["anyOf"])
        if not any(fits(root, value, choice) for choice in choices):
            return False
    if "enum" in own and value not in cast("list[object]", own["enum"]):
        return False
    if "type" in own and not isinstance(value, TYPES[str(own["type"])]):
        return False
    if isinstance(value, list):
        items = cast("Mapping[str, object]", own.get("items", {}))
        return all(fits(root, item, items) for item in value)
    return not isinstance(value, dict) or _keys_fit(root, value, own)


def _keys_fit(root: Mapping[str, object], value: dict[str, object], schema: Mapping[str, object]) -> bool:
    properties = cast("dict[str, Mapping[str, object]]", schema.get("properties", {}))
    others = schema.get("additionalProperties", True)
    if not set(cast("list[str]", schema.get("required", []))) <= set(value):
        return False
    for name, item in value.items():
        own = properties.get(name, others)
        if own is False or (own is not True and not fits(root, item, cast("Mapping[str, object]", own))):
            return False
    return True
