"""The JSON Schema of backend files: it has the fields that the loader reads, and accepts what the loader accepts."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from opwright.backends.dialect import entry_fields, head_fields
from opwright.backends.dialect.fields import json_schema
from tests.dialects.cases import Case, load_cases
from tests.dialects.json_schemas import fits

FOLDER = Path(__file__).with_name("backend_cases")
EXAMPLE = Path(__file__).parents[2] / "examples" / "backend"
CASES = [case for name in ("heads.yaml", "entries.yaml") for case in load_cases(name, FOLDER)]
SCHEMA = json_schema()
#: Unknown fields, options, and words.
REFUSED = {"E1302", "E1303", "E1335", "E1336"}


def value_of(text: str) -> object:
    """The value of a file, in which empty lists may be left out."""
    value = yaml.safe_load(text)
    return {key: [] if item is None else item for key, item in value.items()}


def test_the_fields_of_the_documentation_are_those_of_the_loader() -> None:
    """Each field and each option that is read is described once."""
    heads = [field.name for field in head_fields.HEAD_FIELDS]
    assert len(heads) == len(set(heads))
    assert set(heads) == set(head_fields.READERS)
    options = [field.name for field in entry_fields.ENTRY_FIELDS]
    lasting = {field.name for field in entry_fields.LASTING_FIELDS}
    assert len(options) == len(set(options))
    assert set(options) == set(entry_fields.READERS) | lasting


@pytest.mark.parametrize(
    "case", [case for case in CASES if not {code for *_, code in case.faults} - {"W1348"}], ids=lambda case: case.name
)
def test_files_without_errors_fit(case: Case) -> None:
    """The schema accepts what the loader accepts."""
    assert fits(SCHEMA, value_of(case.text))


def test_examples_fit() -> None:
    """The schema accepts the backend files of the examples."""
    files = [path for path in EXAMPLE.rglob("*.yaml") if path.read_text(encoding="utf-8").startswith("backend:")]
    assert all(fits(SCHEMA, value_of(path.read_text(encoding="utf-8"))) for path in files)


@pytest.mark.parametrize(
    "case", [case for case in CASES if {code for *_, code in case.faults} & REFUSED], ids=lambda case: case.name
)
def test_unknown_words_do_not_fit(case: Case) -> None:
    """The schema refuses unknown fields, options and words."""
    assert not fits(SCHEMA, value_of(case.text))
