"""The JSON Schema of library files: it has the fields that the loader reads, and accepts what the loader accepts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import cast

import pytest
import yaml

from opwright.dialects.library.fields import LIBRARY_FIELDS, READERS
from opwright.dialects.library.json_schema import json_schema
from opwright.dialects.native_functions.entry import load_entry
from opwright.dialects.native_functions.entry_builder import EntryContext
from opwright.dialects.native_functions.fields import ENTRY_FIELDS
from opwright.source.diagnostic import Diagnostics
from opwright.source.nodes import Mapping as Node
from opwright.source.text import SourceFile
from opwright.source.yaml import load_yaml
from tests.dialects.cases import Case, load_cases
from tests.dialects.loading import found_faults

FOLDER = Path(__file__).with_name("library_cases")
EXAMPLE = Path(__file__).parents[2] / "examples" / "library" / "acme.yaml"
CASES = [case for name in ("fields.yaml", "heads.yaml") for case in load_cases(name, FOLDER)]
SCHEMA = json_schema()
#: The Python types of the types of JSON.
TYPES: dict[str, type] = {"string": str, "boolean": bool, "integer": int, "array": list, "object": dict}


def accepts(schema: Mapping[str, object], value: object) -> bool:
    """Whether a value fits a schema; only the keywords that `json_schema` uses are known."""
    unknown = set(schema) - {"$schema", "$defs", "title", "description", "anyOf", "$ref", "type", "enum"}
    assert unknown <= {"properties", "required", "additionalProperties", "items"}
    if "$ref" in schema:
        definitions = cast("dict[str, Mapping[str, object]]", SCHEMA["$defs"])
        if not accepts(definitions[str(schema["$ref"]).removeprefix("#/$defs/")], value):
            return False
    if "anyOf" in schema:
        choices = cast("Sequence[Mapping[str, object]]", schema["anyOf"])
        if not any(accepts(choice, value) for choice in choices):
            return False
    if "enum" in schema and value not in cast("list[object]", schema["enum"]):
        return False
    if "type" in schema and not isinstance(value, TYPES[str(schema["type"])]):
        return False
    if isinstance(value, list):
        items = cast("Mapping[str, object]", schema.get("items", {}))
        return all(accepts(items, item) for item in value)
    return not isinstance(value, dict) or _accepts_keys(schema, value)


def _accepts_keys(schema: Mapping[str, object], value: dict[str, object]) -> bool:
    properties = cast("dict[str, Mapping[str, object]]", schema.get("properties", {}))
    others = schema.get("additionalProperties", True)
    if not set(cast("list[str]", schema.get("required", []))) <= set(value):
        return False
    for name, item in value.items():
        own = properties.get(name, others)
        if own is False or (own is not True and not accepts(cast("Mapping[str, object]", own), item)):
            return False
    return True


def test_every_field_of_the_loader_is_described() -> None:
    """The fields of the documentation are those that the loader knows: an unknown one is a fault, these are not."""
    names = [field.name for field in (*ENTRY_FIELDS, *LIBRARY_FIELDS)]
    assert len(set(names)) == len(names)
    sink = Diagnostics()
    text = "".join(f"{name}: [[]]\n" for name in (*names, "other"))
    entry = load_yaml(SourceFile("ops.yaml", text))
    assert isinstance(entry, Node)
    load_entry(entry, EntryContext(frozenset(), frozenset(), sink, readers=READERS))
    assert [place[0] for place in found_faults(sink) if place[3] == "E0303"] == [len(names) + 1]
    hints = [str(diagnostic.help) for diagnostic in sink if diagnostic.code == "E0303"]
    assert hints == [""]


def test_no_field_of_the_loader_is_missing() -> None:
    """Each field that the loader reads is in the documentation."""
    from opwright.dialects.native_functions import entry

    assert set(entry._READERS) == {field.name for field in ENTRY_FIELDS}
    assert set(READERS) == {field.name for field in LIBRARY_FIELDS}


@pytest.mark.parametrize("case", [case for case in CASES if not case.faults], ids=lambda case: case.name)
def test_files_without_faults_fit(case: Case) -> None:
    """The schema accepts what the loader accepts, except a file whose list of operators is still empty."""
    value = yaml.safe_load(case.text)
    if isinstance(value, dict) and value["operators"] is None:
        value["operators"] = []
    assert accepts(SCHEMA, value)


def test_the_example_fits() -> None:
    """The schema accepts the example of a library."""
    assert accepts(SCHEMA, yaml.safe_load(EXAMPLE.read_text(encoding="utf-8")))


@pytest.mark.parametrize(
    "case",
    [case for case in CASES if {fault[3] for fault in case.faults} & {"E0303", "E1102", "E1109", "E1110", "E1111"}],
    ids=lambda case: case.name,
)
def test_unknown_words_do_not_fit(case: Case) -> None:
    """The schema refuses unknown fields, interfaces, policies and devices."""
    assert not accepts(SCHEMA, yaml.safe_load(case.text))
