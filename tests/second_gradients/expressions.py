"""Expressions over the elements of tensors: their derivatives, and their texts in kernels and in formulas."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

__all__ = ["Expression", "derivative", "drawn", "folded", "of_tensors", "replaced", "text", "variable"]


class Expression(NamedTuple):
    """A variable by name, a number, or a function of parts."""

    kind: str
    parts: tuple[Expression, ...] = ()
    value: float = 0.0

    @property
    def names(self) -> frozenset[str]:
        """The variables in it."""
        if self.kind in ("number", *_SHARES):
            return frozenset().union(*[part.names for part in self.parts])
        return frozenset((self.kind,))


def variable(name: str) -> Expression:
    """A variable."""
    return Expression(name)


def _number(value: float) -> Expression:
    return Expression("number", (), value)


def _added(left: Expression, right: Expression) -> Expression:
    if left == _ZERO or right == _ZERO:
        return right if left == _ZERO else left
    return Expression("add", (left, right))


def _multiplied(left: Expression, right: Expression) -> Expression:
    if _ZERO in (left, right):
        return _ZERO
    if _ONE in (left, right):
        return right if left == _ONE else left
    return Expression("multiply", (left, right))


def _one_minus_square(value: Expression) -> Expression:
    return _added(_ONE, _multiplied(_number(-1), _multiplied(value, value)))


_ZERO: Final = _number(0)
_ONE: Final = _number(1)

#: For each function, what stands before the derivative of each part in its own derivative.
_SHARES: Final[Mapping[str, Callable[..., tuple[Expression, ...]]]] = {
    "add": lambda left, right: (_ONE, _ONE),
    "multiply": lambda left, right: (right, left),
    "sin": lambda part: (Expression("cos", (part,)),),
    "cos": lambda part: (_multiplied(_number(-1), Expression("sin", (part,))),),
    "tanh": lambda part: (_one_minus_square(Expression("tanh", (part,))),),
}
_SIGNS: Final = {"add": " + ", "multiply": " * "}


def derivative(expression: Expression, name: str, inner: Mapping[str, Expression]) -> Expression:
    """The derivative with respect to a variable, of which `inner` gives that of other variables."""
    if expression.kind not in _SHARES:
        return _ONE if expression.kind == name else inner.get(expression.kind, _ZERO)
    total = _ZERO
    shares = _SHARES[expression.kind](*expression.parts)
    for share, part in zip(shares, expression.parts, strict=True):
        total = _added(total, _multiplied(share, derivative(part, name, inner)))
    return total


def replaced(expression: Expression, values: Mapping[str, Expression]) -> Expression:
    """The expression with expressions instead of variables, also inside of those."""
    if expression.kind in values:
        return replaced(values[expression.kind], values)
    return expression._replace(parts=tuple([replaced(part, values) for part in expression.parts]))


def folded(expression: Expression, names: Mapping[Expression, str]) -> Expression:
    """The expression with variables for the parts that they have the value of."""
    if expression in names:
        return variable(names[expression])
    return expression._replace(parts=tuple([folded(part, names) for part in expression.parts]))


def text(expression: Expression, is_kernel: bool, written: Mapping[str, str] | None = None) -> str:
    """C++ of numbers, for a kernel, or of tensors, for a formula, which may write variables in other ways."""
    kind = expression.kind
    parts = [text(part, is_kernel, written) for part in expression.parts]
    if kind == "number":
        return f"{expression.value:g}"
    if kind in _SIGNS:
        return f"({_SIGNS[kind].join(parts)})"
    if kind in _SHARES:
        return f"std::{kind}({parts[0]})" if is_kernel else f"{parts[0]}.{kind}()"
    return (written or {}).get(kind, kind)


def of_tensors(expression: Expression) -> bool:
    """Whether a formula has a tensor for it, and not a number."""
    return not expression.names <= {"by"}


def drawn(chance: random.Random, names: list[str], depth: int) -> Expression:
    """A random expression over variables."""
    if depth == 0 or chance.random() < 0.15:
        return variable(chance.choice(names)) if chance.random() < 0.8 else _number(chance.choice((0.5, 2.0, -1.5)))
    if chance.random() < 0.3:
        part = drawn(chance, names, depth - 1)
        return Expression(chance.choice(("sin", "cos", "tanh")), (part,)) if of_tensors(part) else part
    kind = chance.choice(("add", "multiply", "multiply"))
    return Expression(kind, (drawn(chance, names, depth - 1), drawn(chance, names, depth - 1)))
