"""Modules with docstrings: what they give without being run, the place of each mistake, and hostile modules."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from unittest.mock import Mock

import pytest

from opwright.dialects.docstrings import Evaluator
from opwright.dialects.python_source import parse_module
from opwright.model.more_inputs import Docstring
from opwright.source.diagnostic import Diagnostics, Fault
from opwright.source.text import SourceFile
from tests.dialects.cases import Case, load_cases
from tests.dialects.loading import found_faults

CASES = load_cases("docstring_cases.txt", Path(__file__).parent)

#: Helpers as PyTorch's modules have them, in what they do.
HELPERS = r"""
def parse_kwargs(desc):
    parts = [part.strip() for part in re.split(r"\n\s{4}(?!\s)", desc)]
    return {part.split(" ")[0]: part for part in parts if part}
def merge_dicts(*dicts):
    return {key: text for texts in dicts for key, text in texts.items()}
def add_docstr_all(method, docstr):
    add_docstr(getattr(torch._C.TensorBase, method), docstr)
"""


def python_text(case: Case) -> str:
    """The module of a case; marks of faults are comments already, or become ones."""
    return re.sub(r"(?m)^\^+ E2003$", lambda match: "#" * len(match[0]), case.text)


def evaluated(text: str) -> tuple[dict[str, str], Diagnostics]:
    """The docstrings of a module, and the sink."""
    docstrings: dict[str, Docstring] = {}
    sink = Diagnostics()
    file = SourceFile("torch/_torch_docs.py", text)
    evaluator = Evaluator(file, {}, docstrings, sink)
    imported = ast.parse("from torch._C import _add_docstr as add_docstr")
    evaluator.run([*imported.body, *ast.parse(HELPERS).body])
    try:
        evaluator.run(parse_module(file, "E2003").body)
    except Fault as fault:
        sink.add(fault.diagnostic)
    return {name: docstring.text for name, docstring in docstrings.items()}, sink


def run_with_stand_ins(text: str) -> dict[str, str] | None:
    """What a module gives when it runs with stand-ins for torch, as for PyTorch's generator; None if it fails."""
    docstrings: dict[str, str] = {}

    def add_docstr(function: Mock, docstring: str) -> None:
        docstrings[function._extract_mock_name()] = docstring.strip()

    names = {"re": re, "torch": Mock(name="torch"), "add_docstr": add_docstr}
    try:
        exec(HELPERS + text, names)
    except Exception:
        return None
    return docstrings


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.name}-{case.title}")
def test_docstrings_are_those_of_a_run(case: Case) -> None:
    """Mistakes are at their places; a module without one gives what running it would give."""
    text = python_text(case)
    docstrings, sink = evaluated(text)
    assert found_faults(sink) == case.faults, [str(diagnostic) for diagnostic in sink.sorted()]
    theirs = run_with_stand_ins(text)
    assert (theirs is None) == (bool(case.faults) and not case.is_silent)
    if not case.faults:
        assert docstrings == theirs


#: Seven texts that grow tenfold, loops over six texts in loops, and texts that are joined one by one.
HOSTILE = {
    "doubled": "a = 'xxxxxxxxxx'\nfor n in ('1', '2', '3', '4', '5', '6', '7'):\n    a = "
    + " + ".join(["a"] * 10)
    + "\n",
    "nested": "".join(f"{' ' * n}for a{n} in ('x', 'y', 'z', 'w', 'v', 'u'):\n" for n in range(9))
    + f"{' ' * 9}b = 'text'\n",
    "deep": "a = " + " + ".join(["'x'"] * 900) + "\n",
    "deeper": "a = " + " + ".join(["'x'"] * 9000) + "\n",
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_hostile_modules_end(text: str) -> None:
    """A module that would take all memory or time is refused."""
    docstrings, sink = evaluated(text)
    assert {diagnostic.code for diagnostic in sink} == {"E2003"}
    assert not docstrings
