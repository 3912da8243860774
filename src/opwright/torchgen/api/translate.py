"""Expressions for the values that a call wants: the names of `torchgen.api.translate`."""

from __future__ import annotations

from collections.abc import Sequence

from opwright.cpp import translation
from opwright.cpp.binding import Expression, WantedBinding
from opwright.torchgen.interface.cpp_types import Binding, Expr, NamedCType, model_ctype, role_of


class UnsatError(RuntimeError):
    """No conversion makes a wanted value from the values in scope."""


def model_given(value: Expr | Binding) -> Expression:
    """What Opwright has for a given value."""
    text, named = (value.expr, value.type) if isinstance(value, Expr) else (value.name, value.nctype)
    return Expression(text, role_of(named), model_ctype(named.type))


def model_wanted(goal: NamedCType) -> WantedBinding:
    """What Opwright has for a wanted value."""
    return WantedBinding(role_of(goal), model_ctype(goal.type))


def translate(
    bindings: Sequence[Expr | Binding],
    goals: Sequence[NamedCType | Binding],
    *,
    method: bool = False,
    allow_expensive_conversions: bool = False,
) -> list[Expr]:
    """Expressions of the wanted values, made from the given ones. Raises UnsatError if one cannot be made."""
    named = [goal.nctype if isinstance(goal, Binding) else goal for goal in goals]
    wanted = tuple(map(model_wanted, named))
    try:
        texts = translation.translate(
            tuple(map(model_given, bindings)), wanted, method=method, copies=allow_expensive_conversions
        )
    except translation.Untranslatable as error:
        raise UnsatError(str(error)) from None
    return [Expr(text, goal) for text, goal in zip(texts, named, strict=True)]
