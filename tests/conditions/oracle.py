"""What conditions say, by Python's own parser and integers: the oracle of what is generated for them.

Integers with more than 64 bits, divisions by zero, and places that lists and tensors lack cannot be computed. All else
is what Python says.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping, Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from typing import TypeAlias

    #: A number, a list of sizes, a tensor by its sizes, a list of tensors, or None.
    Value: TypeAlias = Any

__all__ = ["Shape", "Uncomputable", "evaluated"]


class Uncomputable(Exception):
    """Why a value cannot be computed."""


class Shape(tuple[int, ...]):
    """A tensor, by its sizes and its dtype."""

    dtype = "float32"

    def with_dtype(self, dtype: str) -> Shape:
        """The same with another dtype."""
        shape = Shape(self)
        shape.dtype = dtype
        return shape


_ARITHMETIC: Final[Mapping[type[ast.operator], tuple[str, Callable[[int, int], int]]]] = {
    ast.Add: ("+", operator.add),
    ast.Sub: ("-", operator.sub),
    ast.Mult: ("*", operator.mul),
    ast.FloorDiv: ("//", operator.floordiv),
    ast.Mod: ("%", operator.mod),
}
_COMPARISONS: Final[Mapping[type[ast.cmpop], Callable[[Value, Value], bool]]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
}


def _bounded(value: Value, shown: str) -> Value:
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        raise Uncomputable(f"{shown} has more than 64 bits")
    return value


def evaluated(node: ast.expr, names: Mapping[str, Value]) -> Value:
    """The value of an expression. Raises Uncomputable."""
    match node:
        case ast.Constant():
            return node.value
        case ast.Name():
            return names[node.id] if node.id in names else _dtype(node.id)
        case ast.BinOp():
            return _binary(node, evaluated(node.left, names), evaluated(node.right, names))
        case ast.UnaryOp(op=ast.Not()):
            return not evaluated(node.operand, names)
        case ast.UnaryOp(operand=ast.Constant()):
            return -evaluated(node.operand, names)
        case ast.UnaryOp():
            operand = _real(evaluated(node.operand, names))
            return _bounded(-operand, f"-({operand})")
        case ast.Compare():
            return _compared(node, names)
        case ast.BoolOp():
            return _either_or_both(node, names)
        case ast.IfExp():
            return evaluated(node.body if evaluated(node.test, names) else node.orelse, names)
        case ast.List():
            return _list(node, names)
        case ast.Subscript():
            return _subscript(node, names)
        case ast.Attribute(attr="dtype"):
            return _dtype(evaluated(node.value, names).dtype)
        case ast.Attribute():
            return list(evaluated(node.value, names))
        case ast.Call():
            return _call(node, names)
        case ast.Set():
            return evaluated(node.elts[0], names)
    raise AssertionError(ast.dump(node))


def _binary(node: ast.BinOp, left: Value, right: Value) -> Value:
    sign, compute = _ARITHMETIC[type(node.op)]
    if isinstance(left, list):
        return left + right
    try:
        return _bounded(compute(left, right), f"{left} {sign} {right}")
    except ZeroDivisionError:
        raise Uncomputable(f"{left} {sign} 0 divides by zero") from None


def _real(value: Value) -> Value:
    if isinstance(value, complex):
        raise Uncomputable(f"({value.real:g}{value.imag:+g}j) is complex")
    return value


def _compared(node: ast.Compare, names: Mapping[str, Value]) -> bool:
    left, right = evaluated(node.left, names), evaluated(node.comparators[0], names)
    if not isinstance(node.ops[0], ast.Is | ast.IsNot):
        left, right = _real(left), _real(right)
    return _COMPARISONS[type(node.ops[0])](left, right)


def _either_or_both(node: ast.BoolOp, names: Mapping[str, Value]) -> Value:
    """`and`, `or`, and the first value that is not None."""
    is_or, value = isinstance(node.op, ast.Or), None
    for part in node.values:
        value = evaluated(part, names)
        if (value is True) if is_or else (value is False):
            return value
        if is_or and value is not None and value is not False:
            return value
    return value


def _list(node: ast.List, names: Mapping[str, Value]) -> list[int]:
    items: list[int] = []
    for item in node.elts:
        if isinstance(item, ast.Starred):
            items += evaluated(item.value, names)
        else:
            items.append(evaluated(item, names))
    return items


def _subscript(node: ast.Subscript, names: Mapping[str, Value]) -> Value:
    values = evaluated(node.value, names)
    if isinstance(node.slice, ast.Slice):
        limits = [None if limit is None else evaluated(limit, names) for limit in (node.slice.lower, node.slice.upper)]
        return values[slice(*limits)]
    index = evaluated(node.slice, names)
    if not -len(values) <= index < len(values):
        raise Uncomputable(f"index {index} is out of range for a list of {len(values)}")
    return values[index]


def _dimension(dim: int, rank: int) -> int:
    if not -rank <= dim < rank:
        raise Uncomputable(f"dimension {dim} is out of range for a tensor of rank {rank}")
    return dim % rank


def _call(node: ast.Call, names: Mapping[str, Value]) -> Value:
    if isinstance(node.func, ast.Attribute):
        tensor = evaluated(node.func.value, names)
        match node.func.attr:
            case "size":
                return tensor[_dimension(evaluated(node.args[0], names), len(tensor))]
            case "dim":
                return len(tensor)
            case "numel":
                count = 1
                for size in tensor:
                    count *= size
                return count
        return list(tensor)
    assert isinstance(node.func, ast.Name)
    arguments = [evaluated(argument, names) for argument in node.args]
    functions: Mapping[str, Callable[..., Value]] = {
        "len": len, "max": max, "min": min, "broadcast": _broadcast, "reduce": _reduce, "cat": _cat,
        "promote": _promote,
    }  # fmt: skip
    return functions[node.func.id](*arguments)


def _broadcast(*shapes: Sequence[int]) -> list[int]:
    common: list[int] = []
    for shape in shapes:
        joined = []
        for left, right in zip_longest(reversed(common), reversed(shape), fillvalue=1):
            if left != right and 1 not in (left, right):
                raise Uncomputable(f"sizes {common} and {list(shape)} do not broadcast")
            joined.append(right if left == 1 else left)
        common = joined[::-1]
    return common


def _reduce(shape: Sequence[int], dims: int | list[int] | None, keepdim: bool) -> list[int]:
    listed = [dims] if isinstance(dims, int) else list(dims or range(len(shape)))
    removed: set[int] = set()
    for dim in listed:
        place = _dimension(dim, max(len(shape), 1))
        if shape and place in removed:
            raise Uncomputable(f"dimension {place} is named twice")
        removed.add(place)
    return [1 if place in removed else size for place, size in enumerate(shape) if keepdim or place not in removed]


def _cat(tensors: Sequence[Shape], dim: int) -> list[int]:
    if not tensors:
        raise Uncomputable("there are no tensors to join")
    shapes = [list(shape) for shape in tensors if shape != (0,)]
    joined = list(shapes[0] if shapes else tensors[0])
    for shape in shapes[1:]:
        place = _dimension(dim, len(joined))
        if len(shape) != len(joined) or any(
            size != other for index, (size, other) in enumerate(zip(joined, shape, strict=True)) if index != place
        ):
            raise Uncomputable(f"sizes {joined} and {shape} do not join")
        joined[place] = _bounded(joined[place] + shape[place], f"{joined[place]} + {shape[place]}")
    _dimension(dim, len(joined))
    return joined


def _dtype(name: str) -> Value:
    import torch

    return getattr(torch, name)


def _promote(*values: Value) -> Value:
    """The dtype that PyTorch gives two values, of three kinds in turn: numbers, tensors without dimensions, and others.

    PyTorch joins values of one kind by `promote_types`, and `result_type` knows how the kinds join.
    """
    import torch

    kinds: dict[str, Value] = {}
    for value in [item for each in values for item in (each if isinstance(each, list) else [each])]:
        if isinstance(value, int | float | complex):
            kind, dtype = "number", torch.result_type(value, value)
        else:
            kind = "zero" if value == () else "other"
            dtype = _dtype(value.dtype) if isinstance(value, Shape) else value
        kinds[kind] = torch.promote_types(kinds.get(kind, dtype), dtype)
    if not kinds:
        raise Uncomputable("there are no values to promote")
    numbers = {torch.bool: True, torch.int64: 1}
    result = kinds.get("number")
    lesser = None if result is None else numbers.get(result, 1j if result.is_complex else 0.5)
    for kind, shape in (("zero", ()), ("other", (1,))):
        if dtype := kinds.get(kind):
            result = dtype if lesser is None else torch.result_type(torch.empty(shape, dtype=dtype), lesser)
            lesser = torch.empty((), dtype=result)
    return result
