"""Values that tensors of drawn samples may have, by what entries say of them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Final, TypeAlias

from opwright.libraries.declared_outputs import OutputExpression, OutputOperation
from opwright.libraries.dialect.sample_sizes import SizeValue, Unknown, value_of
from opwright.libraries.requirements import ValueCondition, argument_names, element_name, place_name
from opwright.source.records import NamedTuple

#: Numbers from the first one to the last one.
Range: TypeAlias = tuple[float, float]

_ALL: Final = (-math.inf, math.inf)
_FLIPPED: Final = {
    OutputOperation.less: OutputOperation.greater,
    OutputOperation.less_equal: OutputOperation.greater_equal,
    OutputOperation.greater: OutputOperation.less,
    OutputOperation.greater_equal: OutputOperation.less_equal,
    OutputOperation.equal: OutputOperation.equal,
    OutputOperation.unequal: OutputOperation.unequal,
}


class Limits(NamedTuple):
    """What an entry says of the values of a tensor, for chosen sizes and arguments.

    Each value is in one of the `ranges`. Rows of the last dimension are in an `order`: `ascending`, `increasing`,
    `distinct`, or any if it is empty. The first and the last value may be known. Numbers may have to be finite.
    """

    ranges: tuple[Range, ...] = (_ALL,)
    order: str = ""
    first: float | None = None
    last: float | None = None
    is_finite: bool = False

    @property
    def is_limited(self) -> bool:
        """Whether some numbers are excluded."""
        return self != NO_LIMITS


NO_LIMITS: Final = Limits()


def limits_of(conditions: Sequence[ValueCondition], values: Mapping[str, SizeValue]) -> Limits:
    """What conditions on the values of a tensor say, where arguments have some values, and tensors some sizes.

    Raises Unknown if a condition is none that values can be drawn by.
    """
    limits = NO_LIMITS
    for condition in conditions:
        limits = _limited(limits, condition, values)
    low = limits.first if limits.order in ("ascending", "increasing") else None
    high = limits.last if limits.order in ("ascending", "increasing") else None
    for end, is_first in ((low, True), (high, False)):
        if end is not None:
            within = (end, math.inf) if is_first else (-math.inf, end)
            limits = limits._replace(ranges=_both(limits.ranges, (within,)))
    if not limits.ranges:
        raise Unknown
    return limits


def _limited(limits: Limits, condition: ValueCondition, values: Mapping[str, SizeValue]) -> Limits:
    match condition.written:
        case "finite":
            return limits._replace(is_finite=True)
        case "ascending" | "increasing" | "distinct" as order:
            # What increases is ascending and distinct.
            both = {limits.order, order} - {""}
            return limits._replace(order=order if len(both) == 1 else "increasing")
    assert condition.condition is not None
    if condition.is_each:
        if condition.places:
            raise Unknown
        element = element_name(condition.name)
        return limits._replace(ranges=_both(limits.ranges, _ranges(condition.condition, element, condition, values)))
    for place in condition.places:
        if place not in (0, -1) or len(condition.places) > 1:
            raise Unknown
        ranges = _ranges(condition.condition, place_name(condition.name, place), condition, values)
        if not ranges:
            raise Unknown
        low, high = ranges[0]
        value = low if math.isfinite(low) and place == 0 else high if math.isfinite(high) else low
        if not math.isfinite(value):
            raise Unknown
        limits = limits._replace(first=value) if place == 0 else limits._replace(last=value)
    return limits


def _ranges(
    expression: OutputExpression, element: str, condition: ValueCondition, values: Mapping[str, SizeValue]
) -> tuple[Range, ...]:
    """The numbers for which a condition holds. Raises Unknown."""
    operands = [operand for operand in expression.operands if operand is not None]
    operation = expression.operation
    if operation in (OutputOperation.both, OutputOperation.either):
        parts = [_ranges(operand, element, condition, values) for operand in operands]
        if operation is OutputOperation.either:
            return tuple(dict.fromkeys([part for ranges in parts for part in ranges]))
        joined = parts[0]
        for part in parts[1:]:
            joined = _both(joined, part)
        return joined
    if element not in argument_names(expression):
        return (_ALL,) if value_of(expression, values) else ()
    if operation not in _FLIPPED:
        raise Unknown
    left, right = operands
    if right.operation is OutputOperation.argument and right.text == element:
        left, right, operation = right, left, _FLIPPED[operation]
    if left.operation is not OutputOperation.argument or left.text != element:
        raise Unknown
    limit = value_of(right, values)
    if isinstance(limit, bool) or not isinstance(limit, int | float):
        raise Unknown
    # A range of numbers is a little smaller than one with its limits.
    below, above = (limit - 1, limit + 1) if condition.is_integer else (_below(limit), -_below(-limit))
    match operation:
        case OutputOperation.less:
            return ((-math.inf, below),)
        case OutputOperation.less_equal:
            return ((-math.inf, limit),)
        case OutputOperation.greater:
            return ((above, math.inf),)
        case OutputOperation.greater_equal:
            return ((limit, math.inf),)
        case OutputOperation.equal:
            return ((limit, limit),)
    return ((-math.inf, below), (above, math.inf))


def _below(number: float) -> float:
    """A number that is a little smaller, in half precision too."""
    return number - max(abs(number), 1) * 2**-6


def _both(first: tuple[Range, ...], second: tuple[Range, ...]) -> tuple[Range, ...]:
    """Numbers that are in ranges of both."""
    pairs = [(max(low, other_low), min(high, other_high)) for low, high in first for other_low, other_high in second]
    return tuple([pair for pair in pairs if pair[0] <= pair[1]])


def integers_text(limits: Limits, shape: tuple[int, ...], dtype: str, default: Range) -> str:
    """Text of a tensor of integers; those without limits are in the default range. Raises Unknown."""
    ranges = [_closed(pair, default) for pair in limits.ranges]
    row = shape[-1] if shape else 1
    if limits.order in ("increasing", "distinct") and sum(high - low + 1 for low, high in ranges) < row:
        raise Unknown
    if limits.order == "distinct" and (limits.first is not None or limits.last is not None):
        raise Unknown
    if not row and (limits.first is not None or limits.last is not None):
        raise Unknown
    if row == 1 and None not in (limits.first, limits.last) and limits.first != limits.last:
        raise Unknown
    if limits.is_limited:
        ends = [
            f"{name}={value:.0f}"
            for name, value in (("first", limits.first), ("last", limits.last))
            if value is not None
        ]
        order = [f'"{limits.order}"'] if limits.order else []
        return f"integers({', '.join([repr(shape), repr(ranges), f'torch.{dtype}', *order, *ends])})"
    [(low, high)] = ranges
    return f"torch.randint({low}, {high + 1}, {shape}, dtype=torch.{dtype})"


def numbers_text(limits: Limits, shape: tuple[int, ...], dtype: str) -> str:
    """Text of a tensor of numbers. Raises Unknown."""
    if limits.first is not None or limits.last is not None or limits.order in ("increasing", "distinct"):
        raise Unknown
    low, high = max(limits.ranges, key=lambda pair: pair[1] - pair[0])
    if (low, high) == _ALL or (low <= 0.5 and high >= 1.5):
        text = f"torch.rand({shape}, dtype=torch.{dtype}) + 0.5"
    else:
        low = (high - 1 if math.isfinite(high) else 0.0) if math.isinf(low) else low
        high = low + 1 if math.isinf(high) else high
        text = f"torch.rand({shape}, dtype=torch.{dtype}) * {high - low} + {float(low)}"
    return f"({text}).sort().values" if limits.order else text


def _closed(pair: Range, default: Range) -> tuple[int, int]:
    """A range of integers without open ends."""
    low, high = pair
    if math.isinf(low) and math.isinf(high):
        low, high = default
    low = (high - 8 if math.isfinite(high) else 0) if math.isinf(low) else low
    high = low + 8 if math.isinf(high) else high
    low, high = math.ceil(low), math.floor(high)
    if low > high:
        raise Unknown
    return low, high
