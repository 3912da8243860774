"""Calls of drawn operators in each way that a library serves, beside what the oracle says of them."""

from __future__ import annotations

import ast
import logging
import random
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from tests.conditions.drawing import DrawnOperator, arguments
from tests.conditions.oracle import Shape, Uncomputable, evaluated

if TYPE_CHECKING:
    from typing import TypeAlias

    Value: TypeAlias = Any

__all__ = ["Comparison", "Way", "compare", "ways"]

#: The most elements of a result that PyTorch is asked for.
_MOST: Final = 2**40
#: The share of calls that are made with symbols too.
_SYMBOLS: Final = 0.04
#: What an error says behind the subject and before values, which traces show as symbols.
_REASON: Final = re.compile(r"( has to hold| cannot be computed|dimension 0 of the result has size)")


class Way(NamedTuple):
    """A way to call operators: its name, the operators, how their tensors are made, and what holds during calls.

    With `mode`, which is new for each call, tensors are those of a trace; if it `is_symbolic`, with symbols for sizes.
    """

    name: str
    operators: Value
    tensor: Callable[[Shape], Value]
    mode: Callable[[], Value] | None = None
    is_symbolic: bool = False


class Comparison(NamedTuple):
    """How many calls were compared, how many of them were refused or not computed, and what differs."""

    calls: int
    refused: int
    failed: int
    differences: Sequence[str]


def ways(native: Value, stable: Value) -> Iterator[Way]:
    """The ways to call the operators of two libraries."""
    for name, operators in (("native", native), ("stable", stable)):
        if operators is not None:
            yield Way(name, operators, tensors_on("cpu"))
            yield Way(f"{name} meta", operators, tensors_on("meta"))
            yield from traces(name, operators)


def tensors_on(device: str) -> Callable[[Shape], Value]:
    """How tensors on a device are made."""
    import torch

    return lambda shape: torch.empty(shape, device=device, dtype=getattr(torch, shape.dtype))


def traces(name: str, operators: Value) -> Iterator[Way]:
    """The ways of traces: tensors of a trace with known sizes, and with symbols for sizes."""
    from torch._subclasses.fake_tensor import FakeTensorMode
    from torch.fx.experimental.symbolic_shapes import ShapeEnv

    yield Way(f"{name} fake", operators, tensors_on("cpu"), FakeTensorMode)
    yield Way(
        f"{name} symbols",
        operators,
        tensors_on("cpu"),
        lambda: FakeTensorMode(shape_env=ShapeEnv()),
        is_symbolic=True,
    )


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
    mode = way.mode() if way.mode else nullcontext()
    symbols = mode if way.is_symbolic else None
    try:
        with mode:
            values = [_made(way, value, symbols) for value in given.values()]
            getattr(way.operators, operator.name).default(*values)
    except Exception as error:
        text = str(error).partition("\n")[0]
        start = f"conditions_{way.name.partition(' ')[0]}::{operator.name}: "
        return text.removeprefix(start) if text.startswith(start) else f"without the operator: {type(error)} {text}"
    return ""


def _made(way: Way, value: Value, symbols: Value) -> Value:
    if isinstance(value, Shape):
        return way.tensor(value) if symbols is None else _with_symbols(way.tensor, value, symbols)
    return [_made(way, item, symbols) for item in value] if isinstance(value, list) else value


def _with_symbols(tensor: Callable[[Shape], Value], shape: Shape, mode: Value) -> Value:
    from torch.fx.experimental.symbolic_shapes import DimDynamic, StatelessSymbolicContext
    from torch.utils._python_dispatch import _disable_current_modes

    with _disable_current_modes():
        real = tensor(shape)
    return mode.from_tensor(real, symbolic_context=StatelessSymbolicContext([DimDynamic.DYNAMIC] * len(shape)))


def _is_as_expected(way: Way, text: str, wanted: str) -> bool:
    if way.is_symbolic:
        # Values are symbols in its messages.
        text, wanted = ["".join(_REASON.findall(each)[:1]) for each in (text, wanted)] if wanted else (text, wanted)
    return wanted in text and bool(wanted) == bool(text)


def compare(operators: Sequence[DrawnOperator], ways: Sequence[Way], count: int, seed: int) -> Comparison:
    """Calls the operators `count` times in all, each call in every way; with symbols, which are slow, some of them."""
    # PyTorch logs each call that a trace refuses, with its stack.
    logging.disable(logging.CRITICAL)
    try:
        return _compared(operators, ways, count, seed)
    finally:
        logging.disable(logging.NOTSET)


def _compared(operators: Sequence[DrawnOperator], ways: Sequence[Way], count: int, seed: int) -> Comparison:
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
        has_symbols = chance.random() < _SYMBOLS and "64 bits" not in wanted and _is_small(given)
        outcomes = {
            way: outcome(way, operator, given)
            for way in ways
            if (has_symbols or not way.is_symbolic) and (way.name.startswith("native") or not operator.has_scalar)
        }
        texts = {text for way, text in outcomes.items() if not way.is_symbolic}
        if len(texts) > 1 or not all(_is_as_expected(way, text, wanted) for way, text in outcomes.items()):
            shown = {way.name: text for way, text in outcomes.items()}
            differences.append(f"{operator.entry()}{given}\n  wanted: {wanted!r}\n  {shown}")
    return Comparison(count, refused, failed, differences)


def _is_small(given: Mapping[str, Value]) -> bool:
    """Whether sizes are those that traces assume. Symbols have any number of bits, so that nothing overflows."""
    flat = [item for value in given.values() for item in (value if isinstance(value, list) else [value])]
    return all(max(item, default=0) < 2**20 for item in flat if isinstance(item, Shape))


def _is_too_large(operator: DrawnOperator, given: Mapping[str, Value]) -> bool:
    """Whether a result has more elements than tensors can have, which is no matter of the arithmetic."""
    return bool(evaluated(ast.parse(f"({operator.size})", mode="eval").body, given) > _MOST)
