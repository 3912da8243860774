"""Operators that a file names have the schemas of all operators, though only their entries are read."""

from __future__ import annotations

import pytest

import opwright
from opwright.dialects.dialect import LoadContext
from opwright.dialects.table import NATIVE_FUNCTIONS
from opwright.mobile.executorch_dialect.loader import NamedOperators, qualified_name
from opwright.release.inputs import from_installed
from opwright.release.rules import Rules
from opwright.release.version import parse_version
from opwright.source.diagnostic import Diagnostics

INPUTS = from_installed()


def context() -> LoadContext:
    """What the dialect's loader gets."""
    return LoadContext(Diagnostics(), Rules(parse_version("2.13.0")), INPUTS)


def test_named_operators_are_those_of_the_catalog(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each operator of the catalog, written or generated, is found with its own schema, without loading all."""
    functions = list(opwright.load("auto"))[::7]
    names = [f"aten::{function.name}" for function in functions]
    operators = NamedOperators(names, context())
    monkeypatch.setattr(NATIVE_FUNCTIONS.__class__, "load_inputs", lambda *_: pytest.fail("all operators are loaded"))
    for function in functions:
        operator = operators.find(str(function.name))
        assert operator is not None
        assert str(operator.schema) == str(function.schema)


def test_other_names_are_looked_up_in_all_operators() -> None:
    """A name that was not announced is found too, and a wrong one is not."""
    operators = NamedOperators(["add.out"], context())
    assert operators.find("sub.out") is not None
    assert operators.find("add.outt") is None
    assert qualified_name("sub.out") in operators.catalog
