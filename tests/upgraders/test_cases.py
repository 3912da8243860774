"""Small bytecode files: the reference's bytes, its refusals, and diagnostics at their places."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from opwright.cli.schema import schema_text
from opwright.mobile.upgraders.emitter import FILE_NAME, upgrader_source
from opwright.mobile.upgraders.loader import load_upgraders
from opwright.plugins.code_pages import code_names
from opwright.source.diagnostic import Diagnostics
from opwright.source.text import SourceFile
from tests.conformance.inputs import ROOT
from tests.dialects.cases import Case, Fault, load_cases

FOLDER = Path(__file__).parent / "cases"
ACCEPTED, MISTAKES = (load_cases(name, FOLDER) for name in ("accepted.yaml", "mistakes.yaml"))

#: No bytecode file has it: there is no PyTorch to ask for one.
ELSEWHERE = {"E1731"}

References = dict[str, tuple[str | None, str]]


@pytest.fixture(scope="module")
def references(tmp_path_factory: pytest.TempPathFactory) -> References:
    """Why the reference refuses each case, if it does, and the text that it writes."""
    cases = [*ACCEPTED, *MISTAKES]
    folders = {case.name: tmp_path_factory.mktemp(case.name) for case in cases}
    tables = tmp_path_factory.mktemp("tables") / "tables.json"
    tables.write_text(json.dumps([yaml.safe_load(case.text) for case in cases], default=lambda _: 0.5))
    command = [sys.executable, "-m", "tests.upgraders.sides", str(tables), *map(str, folders.values())]
    lines = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout.splitlines()
    outcomes: References = {}
    for (name, folder), line in zip(folders.items(), lines, strict=True):
        path = folder / FILE_NAME
        outcomes[name] = (json.loads(line), path.read_text() if path.exists() else "")
    return outcomes


def load_case(case: Case) -> tuple[str, list[Fault]]:
    """The text that Opwright writes for a case, and its diagnostics."""
    sink = Diagnostics()
    tables = load_upgraders(SourceFile("upgraders.yaml", case.text), sink)
    faults: list[Fault] = []
    for diagnostic in sink:
        assert diagnostic.span is not None
        span = diagnostic.span
        faults.append((span.line, span.column, len(span.text), diagnostic.code))
    return "" if sink.has_errors else upgrader_source(tables), sorted(faults)


@pytest.mark.parametrize("case", ACCEPTED, ids=lambda case: case.name)
def test_files_have_the_same_bytes(case: Case, references: References) -> None:
    """What is right has the reference's bytes, and nothing is reported."""
    text, faults = load_case(case)
    assert faults == []
    assert references[case.name] == (None, text)


@pytest.mark.parametrize("case", ACCEPTED, ids=lambda case: case.name)
def test_accepted_files_fit_the_schema(case: Case) -> None:
    """What is right fits the JSON Schema that `opwright schema upgraders` prints."""
    package = pytest.importorskip("jsonschema")
    assert package.Draft202012Validator(json.loads(schema_text("upgraders"))).is_valid(yaml.safe_load(case.text))


@pytest.mark.parametrize("case", MISTAKES, ids=lambda case: case.name)
def test_mistakes_are_at_their_places(case: Case, references: References) -> None:
    """Diagnostics are where the comments mark them; the reference refuses some of the cases, and accepts the others."""
    _, faults = load_case(case)
    assert faults == list(case.faults)
    refusal, _ = references[case.name]
    assert (refusal is not None) == ("[refused]" in case.title), refusal


def test_several_upgraders_are_separated(references: References) -> None:
    """Where the reference leaves out the comma between two upgraders of an operator, Opwright writes it."""
    text, _ = load_case(MISTAKES[0])
    wrong = references[MISTAKES[0].name][1]
    first, second = 'Upgrader({0, 3, "turn_0_3", 0})', 'Upgrader({4, 5, "turn_4_5", 1})'
    assert first + second in wrong
    assert text == wrong.replace(first + second, f"{first},\n{' ' * 24}{second}")


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("- upgraders\n", (1, 1)),
        ("upgraders: []\noperators: {}\n", (1, 12)),
        ("upgraders: {}\noperators: 3\n", (2, 12)),
        ("upgraders: {a: 1}\noperators: {}\n", (1, 16)),
        ("upgraders: {}\noperators: {a: [1]}\n", (2, 16)),
        ("upgraders: {}\noperators: {a: {upgraders: b, ranges: [[0, 1]]}}\n", (2, 28)),
        ("upgraders: {}\noperators: {a: {upgraders: [], ranges: [0]}}\n", (2, 41)),
    ],
)
def test_values_of_other_shapes_are_reported(text: str, place: tuple[int, int]) -> None:
    """A value of another shape is reported where it is."""
    _, faults = load_case(Case("shape", "", text, ()))
    assert [(line, column, code) for line, column, _, code in faults] == [(*place, "E0112")]


def test_a_repeated_name_is_reported() -> None:
    """A name that comes twice is an error, of which PyTorch's tables have no form."""
    text = "upgraders: {}\noperators:\n  a: {upgraders: [], ranges: []}\n  a: {upgraders: [], ranges: []}\n"
    assert load_case(Case("twice", "", text, ()))[1] == [(4, 3, 1, "E0107")]


def test_every_code_has_a_case() -> None:
    """Each code of bytecode files is marked in a case."""
    registered = {code for code in code_names() if "1720" <= code[1:] < "1800"}
    assert registered - {code for case in MISTAKES for *_, code in case.faults} == ELSEWHERE
