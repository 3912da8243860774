"""The JSON Schema of library files: it has the fields that the loader reads, and accepts what the loader accepts."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from opwright.dialects.native_functions.entry import load_entry
from opwright.dialects.native_functions.entry_builder import EntryContext
from opwright.dialects.native_functions.fields import ENTRY_FIELDS
from opwright.libraries.dialect.fields import LIBRARY_FIELDS, ROWS_BY_NAME, json_schema
from opwright.source.diagnostic import Diagnostics
from opwright.source.nodes import MappingNode
from opwright.source.text import SourceFile
from opwright.source.yaml import load_yaml
from tests.dialects.cases import Case, load_cases
from tests.dialects.json_schemas import fits
from tests.dialects.loading import found_faults

FOLDER = Path(__file__).with_name("library_cases")
EXAMPLE = Path(__file__).parents[2] / "examples" / "library" / "acme.yaml"
CASES = [
    case
    for name in ("fields.yaml", "heads.yaml", "implementations.yaml", "requirements.yaml")
    for case in load_cases(name, FOLDER)
]
SCHEMA = json_schema()


def test_every_field_of_the_loader_is_described() -> None:
    """The fields of the documentation are those that the loader knows: an unknown one is a fault, these are not."""
    names = [field.name for field in (*ENTRY_FIELDS, *LIBRARY_FIELDS)]
    assert len(set(names)) == len(names)
    sink = Diagnostics()
    text = "".join(f"{name}: [[]]\n" for name in (*names, "other"))
    entry = load_yaml(SourceFile("ops.yaml", text))
    assert isinstance(entry, MappingNode)
    load_entry(entry, EntryContext(frozenset(), frozenset(), sink, fields=ROWS_BY_NAME))
    assert [place[0] for place in found_faults(sink) if place[3] == "E0303"] == [len(names) + 1]
    hints = [str(diagnostic.help) for diagnostic in sink if diagnostic.code == "E0303"]
    assert hints == [""]


@pytest.mark.parametrize("case", [case for case in CASES if not case.faults], ids=lambda case: case.name)
def test_files_without_faults_fit(case: Case) -> None:
    """The schema accepts what the loader accepts, except a file whose list of operators is still empty."""
    value = yaml.safe_load(case.text)
    if isinstance(value, dict) and value["operators"] is None:
        value["operators"] = []
    assert fits(SCHEMA, value)


def test_the_example_fits() -> None:
    """The schema accepts the example of a library."""
    assert fits(SCHEMA, yaml.safe_load(EXAMPLE.read_text(encoding="utf-8")))


@pytest.mark.parametrize(
    "case",
    [case for case in CASES if {fault[3] for fault in case.faults} & {"E0303", "E1102", "E1109", "E1110", "E1111"}],
    ids=lambda case: case.name,
)
def test_unknown_words_do_not_fit(case: Case) -> None:
    """The schema refuses unknown fields, interfaces, policies and devices."""
    assert not fits(SCHEMA, yaml.safe_load(case.text))
