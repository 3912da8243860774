"""The schemas that `torch.library` infers from Python functions, read from their syntax."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator
from typing import Final, TypeAlias

from opwright.dialects.python_source import PARSE_ERRORS
from opwright.migrate.importing.python_values import SourceNames, TorchValue, Unread, constant, source_of
from opwright.source.diagnostic import shorten
from opwright.source.records import NamedTuple

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
    if written.arguments is not None and not written.arguments.issubset([argument.arg for argument in arguments]):
        missing = min(written.arguments.difference([argument.arg for argument in arguments]))
        raise Unread(f"`mutates_args` names `{missing}`, which is no parameter")
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
        types = [type for item in items if (type := self._type(item)) is not None and self._is_result(item, type)]
        if len(types) < len(items):
            raise Unread(f"the annotation of the results is `{shorten(source_of(node))}`, of which PyTorch has no type")
        if items == [node]:
            return types[0]
        if len(items) == 1:
            raise Unread(
                f"the result `{shorten(source_of(node))}` is a tuple of one, which kernels in C++ cannot return"
            )
        return f"({', '.join(types)})"

    def _is_result(self, node: ast.expr, type: str) -> bool:
        meant = self._written(node)
        is_sequence = isinstance(meant, ast.Subscript) and self._last_name(meant.value) == "Sequence"
        return type in _RESULTS and not is_sequence

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
    parts: list[ast.expr | None] = [None]
    if isinstance(meant, (ast.Tuple, ast.List, ast.Set)):
        parts = [*meant.elts]
    elif isinstance(meant, ast.Dict):
        parts = [*meant.keys]
    texts = [names.value(part) if part is not None else None for part in parts]
    told = [text.value for text in texts if isinstance(text, ast.Constant) and isinstance(text.value, str)]
    if len(told) < len(parts):
        shown = f"`{shorten(source_of(node))}`, which this does not compute" if node is not None else "not given"
        raise Unread(f"`mutates_args` is {shown}")
    return frozenset(told)
