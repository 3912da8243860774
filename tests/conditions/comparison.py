"""Calls of drawn operators in each way that a library serves, beside what the oracle says of them."""

from __future__ import annotations

import ast
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from tests.conditions.drawing import DrawnOperator, arguments
from tests.conditions.oracle import Shape, Uncomputable, evaluated

if TYPE_CHECKING:
    from typing import TypeAlias

    Value: TypeAlias = Any

__all__ = ["Comparison", "Way", "compare", "ways"]

#: The most elements of a result that PyTorch is asked for.
_MOST: Final = 2**40


class Way(NamedTuple):
    """A way to call operators: its name, the operators, and how their tensors are made."""

    name: str
    operators: Value
    tensor: Callable[[Shape], Value]


class Comparison(NamedTuple):
    """How many calls were compared, how many of them were refused or not computed, and what differs."""

    calls: int
    refused: int
    failed: int
    differences: Sequence[str]


def ways(native: Value, stable: Value) -> Iterator[Way]:
    """The ways to call the operators of two libraries."""
    import torch

    def on(device: str) -> Callable[[Shape], Value]:
        return lambda shape: torch.empty(shape, device=device)

    for name, operators in (("native", native), ("stable", stable)):
        if operators is not None:
            yield Way(name, operators, on("cpu"))
            yield Way(f"{name} meta", operators, on("meta"))


def expected(operator: DrawnOperator, given: Mapping[str, Value]) -> str:
    """What a call does: nothing, or what its error has in it."""
    tree = ast.parse(f"({operator.condition or operator.size})", mode="eval").body
    try:
        value = evaluated(tree, given)
    except Uncomputable as error:
        return f" cannot be computed: {error}"
    if operator.condition:
        return "" if value else "` has to hold"
    return "" if value >= 0 else f"dimension 0 of the result has size {value}, and has to have size 0 or more"


def outcome(way: Way, operator: DrawnOperator, given: Mapping[str, Value]) -> str:
    """What a call does in one way: nothing, or its error without the name of the operator."""
    values = [_made(way, value) for value in given.values()]
    try:
        getattr(way.operators, operator.name).default(*values)
    except Exception as error:
        text = str(error).partition("\n")[0]
        start = f"conditions_{way.name.partition(' ')[0]}::{operator.name}: "
        return text.removeprefix(start) if text.startswith(start) else f"without the operator: {type(error)} {text}"
    return ""


def _made(way: Way, value: Value) -> Value:
    if isinstance(value, Shape):
        return way.tensor(value)
    return [_made(way, item) for item in value] if isinstance(value, list) else value


def compare(operators: Sequence[DrawnOperator], ways: Sequence[Way], count: int, seed: int) -> Comparison:
    """Calls the operators `count` times in all, each call in every way."""
    chance, differences = random.Random(seed), []
    refused = failed = 0
    for number in range(count):
        operator = operators[number % len(operators)]
        given = arguments(operator, chance)
        wanted = expected(operator, given)
        refused += "has to" in wanted
        failed += "cannot be computed" in wanted
        if not wanted and operator.size and _is_too_large(operator, given):
            continue
        served = [way for way in ways if way.name.startswith("native") or not operator.has_scalar]
        outcomes = {way.name: outcome(way, operator, given) for way in served}
        if len(set(outcomes.values())) > 1 or any(
            wanted not in text or bool(wanted) != bool(text) for text in outcomes.values()
        ):
            differences.append(f"{operator.entry()}{given}\n  wanted: {wanted!r}\n  {outcomes}")
    return Comparison(count, refused, failed, differences)


def _is_too_large(operator: DrawnOperator, given: Mapping[str, Value]) -> bool:
    """Whether a result has more elements than tensors can have, which is no matter of the arithmetic."""
    return bool(evaluated(ast.parse(f"({operator.size})", mode="eval").body, given) > _MOST)
