"""Each rule has its case, each case its faults at their places, and the reference agrees on what is a fault."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from opwright.plugins.code_pages import code_names
from tests.dialects.cases import FOLDER, Case, load_cases
from tests.dialects.loading import TAGS, found_faults, load_text

ENTRY_FILES = sorted(path.name for path in FOLDER.glob("*.yaml") if path.name != "tags_file.yaml")
ENTRY_CASES = [case for file in ENTRY_FILES for case in load_cases(file)]
TAG_CASES = load_cases("tags_file.yaml")
PROGRAM = Path(__file__).with_name("reference_refusals.py")


@pytest.mark.parametrize("case", ENTRY_CASES, ids=lambda case: case.name)
def test_faults_of_entries_stand_at_their_places(case: Case) -> None:
    """What is found in a document is what its comments mark, to the column."""
    _, sink = load_text(case.text)
    assert found_faults(sink) == case.faults, [str(diagnostic) for diagnostic in sink.sorted()]


@pytest.mark.parametrize("case", TAG_CASES, ids=lambda case: case.name)
def test_faults_of_tags_stand_at_their_places(case: Case) -> None:
    """What is found in a file of tags is what its comments mark, to the column."""
    _, sink = load_text("[]", case.text)
    assert found_faults(sink) == case.faults, [str(diagnostic) for diagnostic in sink.sorted()]


def test_every_code_has_a_case() -> None:
    """Each code of entries and of rules between entries is marked in a case, or tested for the file as a whole.

    E0353 and W0303 are about source trees, which have tests of their own.
    """
    registered = {code for code in code_names() if "0300" < code[1:] < "0450"}
    marked = {code for case in (*ENTRY_CASES, *TAG_CASES) for _, _, _, code in case.faults}
    assert registered - marked == {"E0401", "E0353", "W0303"}


@pytest.mark.parametrize(("cases", "argument"), [(ENTRY_CASES, TAGS), (TAG_CASES, "--tags")], ids=["entries", "tags"])
def test_the_reference_agrees(cases: list[Case], argument: str) -> None:
    """The reference refuses what has a fault, unless the case says that it is silent, and accepts the rest."""
    texts = json.dumps([case.text for case in cases])
    command = [sys.executable, str(PROGRAM), argument]
    answer = subprocess.run(command, input=texts, capture_output=True, text=True, check=True)
    other = [
        f"{case.name}: {case.title} {refusal}"
        for case, refusal in zip(cases, json.loads(answer.stdout), strict=True)
        if (refusal is not None) != (bool(case.faults) and not case.is_silent)
    ]
    assert not other, "\n".join(other)


def test_an_argument_alone_in_precomputed_learns_of_the_arrow() -> None:
    """The hint has the name that is there, and says what stands behind the arrow."""
    entry = "- func: pick.out(Tensor self, int dim, *, Tensor(a!) out) -> Tensor(a!)\n  structured: True\n"
    _, sink = load_text(f"{entry}  precomputed:\n  - dim\n")
    hints = [str(diagnostic.help) for diagnostic in sink if diagnostic.code == "E0329"]
    assert hints == ["`dim -> int dim`, say, gives the kernel what stands behind `->` in place of `dim`"]
