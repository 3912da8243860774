"""Runs with other flags, and runs after edits of files of users, leave what runs into an empty folder leave."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from tests.edits.fields import ABSENT, DOCUMENTS, WITHOUT_EFFECT, FieldRuns, Place, schema_fields, with_value
from tests.edits.flag_runs import FlagRuns, all_pairs, random_pairs

#: Fields of schemas that no run here changes, and why.
UNCHANGED = {
    "convention": "a plug-in defines it",
    "plugins": "tests of plug-ins edit what they add",
    "library": "the file that it names is another document here",
    "operators": "its items are edited",
    "since": "it is compared with the release",
    "until": "it is compared with the release",
    "value": "it is a part of fields with releases",
}

KEYS_OF_DEVICES = {"CPU", "CUDA", "MPS", "MTIA", "PrivateUse1", "XPU"}


def test_runs_with_flags(tmp_path: Path, reference_inputs: Path) -> None:
    """Devices that a flag adds change what operators are, and with them files without a word of these devices."""
    runs = FlagRuns(tmp_path.resolve(), reference_inputs)
    sets = [(), (("--mps",),), (), (("--xpu",), ("--mtia",)), (("--lean",), ("--mps",))]
    assert list(runs.check(sets)) == []


@pytest.mark.thorough
def test_all_pairs_of_flags(tmp_path: Path, reference_inputs: Path) -> None:
    """Each flag after each other, and random sets of flags."""
    runs = FlagRuns(tmp_path.resolve(), reference_inputs)
    assert list(runs.check([*all_pairs(), *random_pairs(100, seed=0)])) == []


@pytest.mark.parametrize("kind", DOCUMENTS)
def test_runs_after_edits(kind: str, tmp_path: Path, reference_inputs: Path) -> None:
    """Random edits of the fields of each kind of file."""
    assert list(FieldRuns(tmp_path.resolve(), reference_inputs, kind).random_edits(Random(0), 4)) == []


@pytest.mark.thorough
@pytest.mark.parametrize("kind", DOCUMENTS)
def test_each_value_after_each_other_one(kind: str, tmp_path: Path, reference_inputs: Path) -> None:
    """All ordered pairs of the values of each field."""
    runs = FieldRuns(tmp_path.resolve(), reference_inputs, kind)
    assert [text for place, values in runs.document.fields for text in runs.matrix(place, values)] == []


@pytest.mark.thorough
@pytest.mark.parametrize("kind", DOCUMENTS)
def test_values_have_effects(kind: str, tmp_path: Path, reference_inputs: Path) -> None:
    """Two values of each field give different files: with the same ones, a run that keeps old files would pass."""
    runs = FieldRuns(tmp_path.resolve(), reference_inputs, kind)
    for place, values in runs.document.fields:
        texts = [with_value(runs.document.text, place, value) for value in values]
        assert None not in texts, place
        outputs = [runs.outputs(text) for text in texts]
        different = {tuple(sorted(files.items())) for files in outputs if files is not None}
        assert (len(different) > 1) is ((kind, place[-1]) not in WITHOUT_EFFECT), place


@pytest.mark.parametrize("schema", ["library", "executorch", "selection", "backend"])
def test_each_field_of_a_schema_is_edited(schema: str) -> None:
    """A field that is new in a schema needs values here. Files of backends have the entries of libraries."""
    documents = [document for document in DOCUMENTS.values() if document.schema in (schema, "library", "lazy")]
    edited = {name for document in documents for place, values in document.fields for name in names_in(place, values)}
    missing = schema_fields(schema) - edited - UNCHANGED.keys() - KEYS_OF_DEVICES - NOT_IN_USE.get(schema, set())
    assert missing == set()


def names_in(place: Place, values: object) -> Iterator[object]:
    """The keys of a place, and those of values at any depth."""
    yield from place
    if isinstance(values, dict):
        yield from [name for key, value in values.items() for name in names_in((key,), value)]
    elif isinstance(values, (tuple, list)):
        yield from [name for value in values if value is not ABSENT for name in names_in(place, value)]


#: Fields of schemas that no run reads.
NOT_IN_USE = {
    "executorch": {"structured", "structured_delegate"},
    "selection": {"name", "et_kernel_metadata"},
    "library": {"structured", "structured_delegate", "from"},
    "backend": {"structured_delegate"},
}
