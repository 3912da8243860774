"""Conditions and computed sizes of drawn operators: all ways to call them say what Python's own arithmetic says."""

from __future__ import annotations

import ast
from pathlib import Path
from types import ModuleType

import pytest

from tests.compile.conftest import program, torch
from tests.conditions.comparison import Way, compare, tensors_on, traces, ways
from tests.conditions.library import built, operators_that_load, python_alone
from tests.conditions.oracle import Shape, Uncomputable, evaluated

__all__ = ["program", "torch"]

LEAST, MOST = -(2**63), 2**63 - 1


@pytest.mark.thorough
def test_traces_compute_as_python_does(torch: ModuleType, tmp_path: Path) -> None:
    """What the stable interface checks in traces, which no binary is needed for."""
    operators = [each for each in operators_that_load(150, 1, tmp_path) if not each.has_scalar]
    fakes = python_alone(operators, tmp_path)
    way = Way("traced meta", fakes, tensors_on("meta"))
    outcome = compare(operators, [way, *traces("traced", fakes)], 1500, 1)
    assert outcome.refused > 300
    assert outcome.failed > 200
    assert not outcome.differences, "\n".join(outcome.differences[:5])


@pytest.mark.thorough
def test_all_ways_compute_as_python_does(torch: ModuleType, program: str, tmp_path: Path) -> None:
    """C++ with numbers and with symbols, and traces; the target `conditions` makes many more calls."""
    operators = operators_that_load(60, 2, tmp_path)
    native = built(operators, "native", tmp_path, program)
    stable = built([each for each in operators if not each.has_scalar], "stable", tmp_path, program)
    outcome = compare(operators, list(ways(native, stable)), 3000, 2)
    assert not outcome.differences, "\n".join(outcome.differences[:5])


@pytest.mark.parametrize(
    ("text", "names", "wanted"),
    [
        ("n // m", {"n": LEAST, "m": -1}, f"{LEAST} // -1 has more than 64 bits"),
        ("n % m", {"n": LEAST, "m": -1}, 0),
        ("n // m", {"n": -7, "m": 2}, -4),
        ("n % m", {"n": 5, "m": 0}, "5 % 0 divides by zero"),
        ("-n", {"n": LEAST}, f"-({LEAST}) has more than 64 bits"),
        ("n < a", {"n": 2**53 + 1, "a": float(2**53)}, False),
        ("x.size(-3)", {"x": Shape((2, 3))}, "dimension -3 is out of range for a tensor of rank 2"),
        ("l[n]", {"l": [1], "n": 1}, "index 1 is out of range for a list of 1"),
    ],
)
def test_the_oracle(text: str, names: dict[str, object], wanted: object) -> None:
    """The oracle itself: Python's results, and reasons why there are none."""
    try:
        value = evaluated(ast.parse(text, mode="eval").body, names)
    except Uncomputable as error:
        value = str(error)
    assert value == wanted
    assert type(value) is type(wanted)
