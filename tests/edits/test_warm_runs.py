"""Runs with other flags, and runs after edits of files of users, leave what runs into an empty folder leave."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from random import Random

import pytest

from tests.edits.fields import DOCUMENTS, SCHEMA_FOLDER, WITHOUT_EFFECT, FieldRuns, Place, schema_fields, with_value
from tests.edits.flag_runs import FlagRuns, all_pairs, random_pairs

#: Fields of schemas that no run here changes, and why.
UNCHANGED = {
    "implements": "another file defines the operators: `tests/dialects/test_implemented.py` edits it",
    "name": "it is for entries of a file with `implements`",
    "convention": "a plug-in defines it",
    "plugins": "tests of plug-ins edit what they add",
    "library": "the file that it names is another document here",
    "operators": "its items are edited",
    "since": "it is compared with the release",
    "until": "it is compared with the release",
    "value": "it is a part of fields with releases",
}

#: The schemas of files that runs read, and those of the documents here that have their fields.
SCHEMAS = {
    "library": ("library",),
    "backend": ("backend", "lazy", "library"),
    "lazy": ("backend", "lazy", "library"),
    "executorch": ("executorch", "native_functions"),
    **{name: (name,) for name in ("deprecated", "derivatives", "native_functions", "selection", "tags")},
}

#: The others, and why no run after an edit is made for them.
OTHER_SCHEMAS = {
    **dict.fromkeys(("accept", "actions", "bindings", "diff", "dump"), "Opwright writes such documents"),
    "upgraders": "a program of its own makes its one file whole",
}

KEYS_OF_DEVICES = {"CPU", "CUDA", "HPU", "IPU", "MAIA", "MPS", "MTIA", "PrivateUse1", "XLA", "XPU"}


@pytest.mark.thorough
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
        assert (len(different) > 1) is ((kind, place[-1] if place else "") not in WITHOUT_EFFECT), place


@pytest.mark.parametrize("schema", SCHEMAS)
def test_each_field_of_a_schema_is_edited(schema: str) -> None:
    """A field that is new in a schema needs values here. Files of backends have the entries of libraries."""
    documents = [document for document in DOCUMENTS.values() if document.schema in SCHEMAS[schema]]
    edited = {name for document in documents for place, values in document.fields for name in names_in(place, values)}
    missing = schema_fields(schema) - edited - UNCHANGED.keys() - KEYS_OF_DEVICES - NOT_IN_USE.get(schema, set())
    assert missing == set()


def test_all_schemas_of_inputs_are_edited() -> None:
    """A dialect that is new needs a document with values of its fields."""
    assert SCHEMAS.keys() | OTHER_SCHEMAS.keys() == {path.stem for path in SCHEMA_FOLDER.glob("*.json")}


def names_in(place: Place, values: Sequence[object]) -> Iterator[object]:
    """The keys of a place, and those at any depth that lead to what the values do not have in common."""
    yield from place
    leaves = [set(_leaves(value, ())) for value in values]
    for path, leaf in set[tuple[Place, object]]().union(*leaves):
        if any((path, leaf) not in own for own in leaves):
            yield from path


def _leaves(value: object, path: Place) -> Iterator[tuple[Place, object]]:
    items: Iterable[tuple[str | int, object]] = ()
    if isinstance(value, dict):
        items = value.items()
    elif isinstance(value, list):
        items = enumerate(value)
    else:
        yield path, value
    for key, part in items:
        yield from _leaves(part, (*path, key))


#: Fields of schemas that no run reads.
NOT_IN_USE = {
    "executorch": {"structured", "structured_delegate"},
    "selection": {"name", "et_kernel_metadata"},
    "library": {"structured", "structured_delegate", "from"},
    "backend": {"structured_delegate"},
    "lazy": {"structured_delegate"},
}
