"""The schemas that `torch.library` infers from Python functions, and constants, read from their syntax.

Nothing is run.
"""

from __future__ import annotations

import ast
import math
import operator
import re
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Final, TypeAlias, cast

from opwright.dialects.python_source import PARSE_ERRORS
from opwright.libraries.declared_outputs import DTYPES, TORCH_DTYPES
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
_DEEPEST_VALUE: Final = 100
_CONSTANTS: Final = {
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
    meant = names.value(node) if depth < _DEEPEST_VALUE else None
    value = meant.value if isinstance(meant, ast.Constant) else Unread
    if isinstance(value, (int, float, str, type(None))) and _fits(value):
        return value
    if isinstance(meant, (ast.Name, ast.Attribute)):
        full = names.full_name(meant)
        if full in _CONSTANTS:
            return _CONSTANTS[full]
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


FunctionNode: TypeAlias = "ast.FunctionDef | ast.AsyncFunctionDef"

#: The last part of the name of a type -> the type in a schema.
_TYPES: Final = {
    "Tensor": "Tensor", "int": "SymInt", "float": "float", "bool": "bool", "str": "str",
    "Number": "Scalar", "dtype": "ScalarType", "device": "Device", "GroupName": "str",
}  # fmt: skip
_NUMBERS: Final = frozenset(("SymInt", "float", "bool"))
_LISTS: Final = ("List", "list", "Sequence")
#: The types of which PyTorch takes lists, and of these the ones that may be None as a whole.
_LISTED: Final = frozenset(("Tensor", "Tensor?", "Scalar", *_NUMBERS))
_OPTIONAL_LISTS: Final = frozenset(f"{type}[]" for type in _NUMBERS)
_RESULTS: Final = frozenset(("Tensor", "Tensor[]", "Scalar", *_NUMBERS))
_DEEPEST: Final = 20


class WrittenArguments(NamedTuple):
    """The arguments that an operator writes, None for all tensors, and its tags, which say which of them it returns."""

    arguments: frozenset[str] | None = frozenset()
    tags: Collection[str] = ()


def function_schema(name: str, function: FunctionNode, written: WrittenArguments, names: SourceNames) -> str:
    """The schema that PyTorch infers from the annotations of a function. Raises Unread if they do not say it.

    >>> text = "def f(x: Tensor, *, by: Optional[float] = 1 / 4, name: str = 'a') -> tuple[Tensor, int]: ..."
    >>> function = ast.parse(text).body[0]
    >>> function_schema("f", function, WrittenArguments(frozenset({"x"})), SourceNames(lambda node: node, ast.unparse))
    'f(Tensor(a0!) x, *, float? by=0.25, str name="a") -> (Tensor, SymInt)'
    """
    given = function.args
    if given.posonlyargs or given.vararg is not None or given.kwarg is not None:
        apart = [*given.posonlyargs, *filter(None, (given.vararg, given.kwarg))]
        raise Unread(f"the parameter `{apart[0].arg}` is positional only, or stands for several")
    arguments = [*given.args, *given.kwonlyargs]
    if missing := (written.arguments or frozenset()).difference([argument.arg for argument in arguments]):
        raise Unread(f"`mutates_args` names `{min(missing)}`, which is no parameter")
    types = _Types(names)
    defaults: list[ast.expr | None] = [None] * (len(given.args) - len(given.defaults))
    defaults += [*given.defaults, *given.kw_defaults]
    parts: list[str] = []
    aliased: list[str] = []
    for number, (argument, default) in enumerate(zip(arguments, defaults, strict=True)):
        type = types.parameter(argument)
        if written.arguments is None or argument.arg in written.arguments:
            if type.startswith("Tensor"):
                type = type.replace("Tensor", f"Tensor(a{number}!)")
                aliased.append(type)
            elif written.arguments is not None:
                raise Unread(f"`mutates_args` names `{argument.arg}`, which is no tensor")
        if number == len(given.args):
            parts.append("*")
        parts.append(f"{type} {argument.arg}" + (f"={_default(argument.arg, default, names)}" if default else ""))
    result = types.result(function.returns)
    if not {"inplace", "out"}.isdisjoint(written.tags):
        if result != (f"({', '.join(['Tensor'] * len(aliased))})" if len(aliased) > 1 else "Tensor") or not aliased:
            raise Unread("the tags say that it returns what it writes, and its annotations do not")
        result = f"({', '.join(aliased)})" if len(aliased) > 1 else aliased[0]
    return f"{name}({', '.join(parts)}) -> {result}"


class _Types:
    """The types of annotations, with the names of a source."""

    def __init__(self, names: SourceNames) -> None:
        self._names = names

    def parameter(self, argument: ast.arg) -> str:
        """The type of a parameter. Raises Unread with its name."""
        if argument.annotation is None:
            raise Unread(f"the parameter `{argument.arg}` has no annotation")
        type = self._type(argument.annotation)
        if type is None:
            shown = shorten(source_of(argument.annotation))
            raise Unread(f"the annotation of the parameter `{argument.arg}` is `{shown}`, of which PyTorch has no type")
        return type

    def result(self, node: ast.expr | None) -> str:
        """The types of the results. Raises Unread for those that PyTorch refuses."""
        if node is None:
            raise Unread("the results have no annotation")
        meant = self._written(node)
        if _is_none(meant):
            return "()"
        outer = self._last_name(meant.value) if isinstance(meant, ast.Subscript) else ""
        items = [node]
        if isinstance(meant, ast.Subscript) and outer in ("tuple", "Tuple"):
            items = meant.slice.elts if isinstance(meant.slice, ast.Tuple) else [meant.slice]
        types = [type for item in items if (type := self._type(item)) in _RESULTS and not self._is_sequence(item)]
        if len(types) < len(items):
            raise Unread(f"the annotation of the results is `{shorten(source_of(node))}`, of which PyTorch has no type")
        if items == [node]:
            return str(types[0])
        if len(items) == 1:
            told = f"the result `{shorten(source_of(node))}` is a tuple of one, which kernels in C++ cannot return"
            raise Unread(told)
        return f"({', '.join(map(str, types))})"

    def _is_sequence(self, node: ast.expr) -> bool:
        meant = self._written(node)
        return isinstance(meant, ast.Subscript) and self._last_name(meant.value) == "Sequence"

    def _type(self, node: ast.expr) -> str | None:
        """The type in a schema; None for one that PyTorch does not take."""
        meant = self._written(node)
        if isinstance(meant, (ast.Name, ast.Attribute)):
            return _TYPES.get(self._last_name(meant))
        if isinstance(meant, ast.Subscript) and self._last_name(meant.value) in _LISTS:
            inner = self._type(meant.slice)
            return f"{inner}[]" if inner in _LISTED else None
        alternatives = [*self._alternatives(meant)]
        if alternatives == [meant]:
            return None
        parts = {"None" if _is_none(part) else self._type(part) or "" for part in alternatives}
        is_optional = "None" in parts or any(part.endswith("?") for part in parts)
        types = {part.removesuffix("?") for part in parts - {"None"}}
        if types <= {"Scalar", *_NUMBERS} and (types >= _NUMBERS or "Scalar" in types):
            types = {"Scalar"}
        type = types.pop() if len(types) == 1 else ""
        if is_optional and type.endswith("[]") and type not in _OPTIONAL_LISTS:
            return None
        return f"{type}?" if is_optional and type else type or None

    def _alternatives(self, node: ast.expr | None, depth: int = 0) -> Iterator[ast.expr]:
        """The types of which an annotation takes one: those of `Union`, `Optional` and `|`."""
        meant = self._written(node) if node is not None and depth < _DEEPEST else None
        outer = self._last_name(meant.value) if isinstance(meant, ast.Subscript) else ""
        if isinstance(meant, ast.BinOp) and isinstance(meant.op, ast.BitOr):
            inner = [meant.left, meant.right]
        elif isinstance(meant, ast.Subscript) and outer in ("Union", "Optional"):
            inner = [*meant.slice.elts] if isinstance(meant.slice, ast.Tuple) else [meant.slice]
            inner += [ast.Constant(None)] if outer == "Optional" else []
        else:
            yield from [] if node is None else [node if meant is None else meant]
            return
        for part in inner:
            yield from self._alternatives(part, depth + 1)

    def _written(self, node: ast.expr) -> ast.expr | None:
        """An annotation without its quotes and with what its name stands for; None if that is not known."""
        meant = self._names.value(node)
        if isinstance(meant, ast.Constant) and isinstance(meant.value, str):
            try:
                return self._names.value(ast.parse(meant.value, mode="eval").body)
            except PARSE_ERRORS:
                return None
        return meant

    def _last_name(self, node: ast.expr) -> str:
        return self._names.full_name(node).rpartition(".")[2]


def _is_none(node: ast.expr | None) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _default(name: str, node: ast.expr, names: SourceNames) -> str:
    """A default as PyTorch writes it into a schema. Raises Unread with the name of the parameter."""
    try:
        value = constant(node, names)
    except Unread as reason:
        raise Unread(f"the default of the parameter `{name}` is {reason}") from None
    if isinstance(value, TorchValue):
        return value.schema_text
    return f'"{value}"' if isinstance(value, str) else str(value)


def written_names(node: ast.expr | None, names: SourceNames) -> frozenset[str] | None:
    """The arguments that `mutates_args` names; None for all tensors. Raises Unread for what only a run knows."""
    meant = names.value(node) if node is not None else None
    if isinstance(meant, ast.Constant) and meant.value == "unknown":
        return None
    if isinstance(meant, ast.Call) and names.full_name(meant.func) in ("set", "frozenset", "tuple", "list", "dict"):
        meant = meant.args[0] if meant.args else ast.Tuple([])
    parts: Sequence[ast.expr | None] = meant.keys if isinstance(meant, ast.Dict) else [None]
    if isinstance(meant, (ast.Tuple, ast.List, ast.Set)):
        parts = meant.elts
    texts = [names.value(part) if part is not None else None for part in parts]
    told = [text.value for text in texts if isinstance(text, ast.Constant) and isinstance(text.value, str)]
    if len(told) < len(parts):
        shown = f"`{shorten(source_of(node))}`, which this does not compute" if node is not None else "not given"
        raise Unread(f"`mutates_args` is {shown}")
    return frozenset(told)
