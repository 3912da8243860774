"""Without the package that parses C++, formulas are checked as far as that goes, and a run says what is off."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest

from opwright.dialects.derivatives.formula_checks import FormulaChecker, FormulaScope
from opwright.dialects.derivatives.formula_helpers import FormulaHelpers
from opwright.dialects.derivatives.formula_shapes import formula_parser
from opwright.model.derivatives import words_of
from opwright.source.diagnostic import Diagnostics, Fault
from opwright.source.nodes import MappingNode, Scalar
from opwright.source.text import SourceFile
from opwright.source.yaml import load_yaml

SCOPE = FormulaScope("relu", frozenset(("grad", "self")))


@pytest.fixture(autouse=True)
def _no_parser(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A Python without the packages."""
    for name in ("tree_sitter", "tree_sitter_cpp"):
        monkeypatch.setitem(sys.modules, name, None)
    formula_parser.cache_clear()
    yield
    formula_parser.cache_clear()


def faults_of(*formulas: str, strict: bool = False) -> list[tuple[str, int]]:
    """The codes and lines of the faults of formulas, one in each line."""
    text = "".join([f"f{number}: '{formula}'\n" for number, formula in enumerate(formulas)])
    root, sink = load_yaml(SourceFile("derivatives.yaml", text)), Diagnostics()
    checker = FormulaChecker(None, FormulaHelpers(frozenset(("twice",)), {}, are_all=False), sink, strict=strict)
    assert isinstance(root, MappingNode)
    for _, value in root.entries:
        assert isinstance(value, Scalar)
        checker.check(value, frozenset(words_of(value.value)), SCOPE)
    return [(each.code, each.span.line if each.span is not None else 0) for each in sink.sorted()]


def test_usual_formulas() -> None:
    """Formulas of the usual shape need no parser."""
    assert faults_of("grad * self", "twice(grad, {0, 1})[0]") == []


def test_others() -> None:
    """The first of the others is named, and none of them is an error."""
    assert faults_of("grad * self", "grad self", "grad * sefl", "grad ^ ^ self") == [("W0939", 2)]


def test_brackets() -> None:
    """What takes no parser is checked: brackets."""
    assert faults_of("grad * (self", "grad self", "grad)") == [("E0937", 1), ("W0939", 2), ("E0937", 3)]


def test_strict() -> None:
    """A strict run parses all formulas, and so says it of the first."""
    assert faults_of("grad", "grad * self", strict=True) == [("W0939", 1)]


def test_who_needs_it() -> None:
    """Whoever cannot do without the parser gets a fault that says what to install."""
    with pytest.raises(Fault, match="tree_sitter") as raised:
        formula_parser()
    assert raised.value.diagnostic.code == "E0939"
