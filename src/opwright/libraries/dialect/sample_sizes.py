"""Values of expressions for sizes that are chosen: what two ways to declare a result say of the same call."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from itertools import zip_longest
from typing import Any, Final

from opwright.libraries.declared_outputs import OutputExpression, OutputOperation, ValueKind
from opwright.libraries.requirements import DimKind, TensorDims

#: A value: a number, a list of sizes, or the sizes of a tensor; None where an argument is missing.
SizeValue = Any


class Unknown(Exception):
    """The value of an expression depends on more than sizes."""


def _broadcast(shapes: list[tuple[int, ...]]) -> tuple[int, ...]:
    sizes = []
    for column in zip_longest(*[reversed(shape) for shape in shapes], fillvalue=1):
        wanted = {size for size in column if size != 1}
        if len(wanted) > 1:
            raise Unknown
        sizes.append(wanted.pop() if wanted else 1)
    return tuple(reversed(sizes))


def _reduce(sizes: tuple[int, ...], dims: int | list[int] | None, keepdim: bool) -> tuple[int, ...]:
    listed = [dims] if isinstance(dims, int) else dims or range(len(sizes))
    reduced = {range(len(sizes))[dim] for dim in listed}
    return tuple(
        [1 if place in reduced else size for place, size in enumerate(sizes) if keepdim or place not in reduced]
    )


_FUNCTIONS: Final[Mapping[OutputOperation, Callable[..., SizeValue]]] = {
    OutputOperation.value: lambda value: value,
    OutputOperation.add: operator.add,
    OutputOperation.subtract: operator.sub,
    OutputOperation.multiply: operator.mul,
    OutputOperation.floor_divide: operator.floordiv,
    OutputOperation.modulo: operator.mod,
    OutputOperation.negate: operator.neg,
    OutputOperation.maximum: max,
    OutputOperation.minimum: min,
    OutputOperation.equal: operator.eq,
    OutputOperation.same_lists: lambda sizes, others: [*sizes] == [*others],
    OutputOperation.unequal: operator.ne,
    OutputOperation.less: operator.lt,
    OutputOperation.less_equal: operator.le,
    OutputOperation.greater: operator.gt,
    OutputOperation.greater_equal: operator.ge,
    OutputOperation.both: lambda *values: all(values),
    OutputOperation.either: lambda *values: any(values),
    OutputOperation.negation: operator.not_,
    OutputOperation.is_given: lambda value: value is not None,
    OutputOperation.value_or: lambda value, other: other if value is None else value,
    OutputOperation.size: lambda sizes, dim: sizes[dim],
    OutputOperation.sizes: tuple,
    OutputOperation.dim: len,
    OutputOperation.length: len,
    OutputOperation.item: operator.getitem,
    OutputOperation.slice: lambda values, first, last: values[first:last],
    OutputOperation.make_list: lambda *items: items,
    OutputOperation.concatenate: lambda *parts: tuple([item for part in parts for item in part]),
    OutputOperation.broadcast: lambda *shapes: _broadcast(list(shapes)),
    OutputOperation.reduce: _reduce,
    OutputOperation.power_of_two: lambda number: number > 0 and number & (number - 1) == 0,
}


def value_of(expression: OutputExpression | None, arguments: Mapping[str, SizeValue]) -> SizeValue:
    """SizeValue of an expression for some arguments, of which tensors are their sizes. Raises Unknown."""
    if expression is None:
        return None
    operation = expression.operation
    if operation is OutputOperation.argument:
        if expression.text not in arguments:
            raise Unknown
        return arguments[expression.text]
    if operation is OutputOperation.literal:
        if expression.kind is ValueKind.none:
            return None
        return expression.text == "true" if expression.kind is ValueKind.boolean else int(float(expression.text))
    if operation is OutputOperation.conditional:
        test, first, second = expression.operands
        return value_of(first if value_of(test, arguments) else second, arguments)
    if operation is OutputOperation.text_in:
        return value_of(expression.operands[0], arguments) in expression.text.split("\n")
    function = _FUNCTIONS.get(operation)
    if function is None:
        raise Unknown
    try:
        return function(*[value_of(operand, arguments) for operand in expression.operands])
    except (ArithmeticError, IndexError, TypeError, ValueError):
        raise Unknown from None


def chosen_sizes(
    name: str, dims: TensorDims, sizes: Mapping[str, int | tuple[int, ...]], others: Mapping[str, SizeValue]
) -> SizeValue:
    """Sizes of a tensor with a pattern, for chosen sizes with names. Raises Unknown.

    Sizes that expressions give may depend on other ones of the tensor itself.
    """
    chosen: list[int] = []
    computed: list[tuple[int, OutputExpression | None]] = []
    for item in dims.items:
        match item.kind:
            case DimKind.pack:
                pack = sizes[item.text]
                assert isinstance(pack, tuple)
                chosen += pack
            case DimKind.named:
                size = sizes[item.text]
                assert isinstance(size, int)
                chosen.append(size)
            case DimKind.size:
                computed.append((len(chosen), item.size))
                chosen.append(0)
            case DimKind.any:
                chosen.append(2)
            case DimKind.rest:
                chosen += (2, 3)
    own = {**others, name: tuple(chosen)}
    for place, size_expression in computed:
        chosen[place] = value_of(size_expression, own)
    return tuple(chosen)
