"""Constants of Python sources, such as defaults: computed from their syntax, so that nothing is run."""

from __future__ import annotations

import ast
import math
import operator
import re
from collections.abc import Callable
from typing import Final, TypeAlias, cast

from opwright.dialects.python_source import PARSE_ERRORS
from opwright.model.declared_outputs import DTYPES, TORCH_DTYPES
from opwright.source.diagnostic import shorten
from opwright.source.records import NamedTuple


class Unread(Exception):
    """What stays unread, with the reason as its text."""


class SourceNames(NamedTuple):
    """What the names of a source stand for.

    `value` gives the expression that a name is bound to, the expression itself if it is no such name, and None for a
    name with several values. `full_name` is the dotted name in terms of imported modules, empty if it is no name.
    """

    value: Callable[[ast.expr], ast.expr | None]
    full_name: Callable[[ast.expr], str]


class TorchValue(NamedTuple):
    """A dtype or a device, as a schema writes it."""

    schema_text: str


SourceConstant: TypeAlias = "bool | int | float | str | TorchValue | None"

#: The most bits of a number on the way. A larger one has no use in a schema, and may take all memory.
_MOST_BITS: Final = 256
_DEEPEST: Final = 100
_NUMBERS: Final = {
    f"{module}.{name}": value
    for module in ("math", "torch", "numpy")
    for name, value in (("inf", math.inf), ("nan", math.nan), ("pi", math.pi), ("e", math.e), ("tau", math.tau))
}
_UNARY: Final = {
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
    ast.Invert: operator.invert,
    ast.Not: operator.not_,
}
_BINARY: Final = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
    ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
    ast.BitOr: operator.or_,
    ast.BitAnd: operator.and_,
    ast.BitXor: operator.xor,
}
_CASTS: Final = {"int": int, "float": float, "bool": bool}
#: The dtypes without a name in expressions of library files.
_OTHER_DTYPES: Final = re.compile(r"q?u?int\d+(x\d+)?|bits\d+(x\d+)?|float\d_e\d\w+")
_DEVICE: Final = re.compile(r"[a-z]+(:(0|[1-9]\d{0,2}))?")


def source_of(node: ast.expr) -> str:
    """The source of an expression; empty for one that Python cannot write, such as an integer of 5,000 digits."""
    try:
        return ast.unparse(node)
    except PARSE_ERRORS:
        return ""


def constant(node: ast.expr, names: SourceNames, depth: int = 0) -> SourceConstant:
    """The value of an expression of constants. Raises Unread for one that only a run of the source knows.

    >>> plain = SourceNames(lambda node: node, ast.unparse)
    >>> constant(ast.parse("(1 << 20) - torch.pi", mode="eval").body, plain)
    1048572.8584073464
    >>> constant(ast.parse("torch.device('cuda', 0)", mode="eval").body, plain)
    TorchValue(schema_text='"cuda:0"')
    """
    meant = names.value(node) if depth < _DEEPEST else None
    if (
        isinstance(meant, ast.Constant)
        and isinstance(meant.value, (int, float, str, type(None)))
        and _fits(meant.value)
    ):
        return meant.value
    if isinstance(meant, (ast.Name, ast.Attribute)):
        full = names.full_name(meant)
        if full in _NUMBERS:
            return _NUMBERS[full]
        dtype = _dtype(full.removeprefix("torch.")) if full.startswith("torch.") else ""
        if dtype:
            return TorchValue(dtype)
    try:
        if isinstance(meant, ast.UnaryOp):
            unary = cast("Callable[[object], SourceConstant]", _UNARY[type(meant.op)])
            return unary(_number(meant.operand, names, depth))
        if isinstance(meant, ast.BinOp):
            return _computed(meant, names, depth)
        if isinstance(meant, ast.Call) and not meant.keywords:
            return _called(names.full_name(meant.func), [constant(part, names, depth + 1) for part in meant.args])
    except (ArithmeticError, TypeError, ValueError, KeyError):
        pass
    raise Unread(f"`{shorten(source_of(node))}`, which this does not compute")


def _dtype(name: str) -> str:
    """The name that PyTorch prints for a dtype; empty if it is none."""
    if name in DTYPES:
        return TORCH_DTYPES[DTYPES[name]]
    return name if _OTHER_DTYPES.fullmatch(name) else ""


def _number(node: ast.expr, names: SourceNames, depth: int) -> bool | int | float:
    value = constant(node, names, depth + 1)
    if not isinstance(value, (int, float)) or not _fits(value):
        raise TypeError
    return value


def _fits(value: object) -> bool:
    return not isinstance(value, int) or value.bit_length() <= _MOST_BITS


def _computed(node: ast.BinOp, names: SourceNames, depth: int) -> SourceConstant:
    left = constant(node.left, names, depth + 1)
    if isinstance(left, str) and isinstance(node.op, ast.Add):
        right = constant(node.right, names, depth + 1)
        if isinstance(right, str):
            return left + right
    first, second = _number(node.left, names, depth), _number(node.right, names, depth)
    if isinstance(node.op, (ast.LShift, ast.Pow)) and isinstance(first, int) and isinstance(second, int):
        bits = 1 if isinstance(node.op, ast.LShift) else max(first.bit_length(), 1)
        if second * bits > _MOST_BITS:
            raise OverflowError
    compute = cast("Callable[[object, object], SourceConstant]", _BINARY[type(node.op)])
    value = compute(first, second)
    if isinstance(value, complex):
        raise TypeError
    return value


def _called(name: str, given: list[SourceConstant]) -> SourceConstant:
    """The value of a call of a type of numbers, or of `torch.device`. Raises TypeError for another one."""
    if name == "torch.device" and given and isinstance(given[0], str):
        text = ":".join(map(str, given))
        if _DEVICE.fullmatch(text) and len(given) <= 2:
            return TorchValue(f'"{text}"')
    elif name in _CASTS and len(given) == 1 and isinstance(given[0], (bool, int, float, str)):
        return cast("SourceConstant", _CASTS[name](given[0]))
    raise TypeError
