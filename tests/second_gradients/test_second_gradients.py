"""Second gradients of drawn operators, and what is drawn; the target `second-gradients` compiles many more."""

from __future__ import annotations

import random
from pathlib import Path
from types import ModuleType

import pytest

from tests.compile.conftest import program, torch
from tests.second_gradients.comparison import differences
from tests.second_gradients.drawing import DrawnOperator
from tests.second_gradients.expressions import Expression, derivative, variable
from tests.second_gradients.library import built

__all__ = ["program", "torch"]


@pytest.mark.thorough
@pytest.mark.parametrize("abi", ["stable", "native"])
def test_second_gradients(torch: ModuleType, program: str, tmp_path: Path, abi: str) -> None:
    """They are those of differences, or an error names a result that has no gradient."""
    chance = random.Random(5)
    operators = [DrawnOperator(number, chance) for number in range(30)]
    assert 2 < sum(bool(operator.unknown) for operator in operators) < 28
    name = f"second_{abi}"
    found = list(differences(operators, built(operators, abi, name, tmp_path / name, program)))
    assert not found, "\n".join(found[:5])


def test_derivatives_of_expressions() -> None:
    """The oracle itself: the derivative of a product of a result and a function."""
    product = Expression("multiply", (variable("r0"), Expression("sin", (variable("x"),))))
    inner = {"r0": variable("y")}
    cosine = Expression("multiply", (variable("r0"), Expression("cos", (variable("x"),))))
    sine = Expression("multiply", (Expression("sin", (variable("x"),)), variable("y")))
    assert derivative(product, "x", inner) == Expression("add", (sine, cosine))
