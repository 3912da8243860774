"""The schema that PyTorch infers from the annotations of a Python function."""

from __future__ import annotations

import ast
import json
from typing import Final

__all__ = ["function_schema"]

_TYPES: Final = {
    "Tensor": "Tensor", "int": "SymInt", "SymInt": "SymInt", "float": "float", "bool": "bool", "str": "str",
    "Number": "Scalar", "dtype": "ScalarType", "device": "Device",
}  # fmt: skip
_LISTS: Final = ("List", "list", "Sequence")


def function_schema(
    name: str, function: ast.FunctionDef | ast.AsyncFunctionDef, mutated: frozenset[str] | None
) -> str | None:
    """The schema of an operator with the arguments of a function; None if its annotations do not say it.

    >>> text = "def f(x: Tensor, *, by: Optional[float] = None, name: str = 'a') -> tuple[Tensor, int]: ..."
    >>> function = ast.parse(text).body[0]
    >>> function_schema("f", function, frozenset({"x"}))
    'f(Tensor(a0!) x, *, float? by=None, str name="a") -> (Tensor, SymInt)'
    """
    given = function.args
    if given.vararg is not None or given.kwarg is not None or given.posonlyargs:
        return None
    defaults: list[ast.expr | None] = [None] * (len(given.args) - len(given.defaults))
    defaults += given.defaults
    parts: list[str] = []
    arguments = [*zip(given.args, defaults, strict=True), *zip(given.kwonlyargs, given.kw_defaults, strict=True)]
    for number, (argument, default) in enumerate(arguments):
        type = _type(argument.annotation)
        if type is None:
            return None
        if "Tensor" in type and (mutated is None or argument.arg in mutated):
            type = type.replace("Tensor", f"Tensor(a{number}!)")
        shown = "" if default is None else _default(default)
        if shown is None:
            return None
        if number == len(given.args):
            parts.append("*")
        parts.append(f"{type} {argument.arg}" + (f"={shown}" if shown else ""))
    result = _result(function.returns)
    return None if result is None else f"{name}({', '.join(parts)}) -> {result}"


def _type(node: ast.expr | None) -> str | None:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        try:
            return _type(ast.parse(node.value, mode="eval").body)
        except SyntaxError:
            return None
    if isinstance(node, (ast.Name, ast.Attribute)):
        return _TYPES.get(ast.unparse(node).rpartition(".")[2])
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        sides = [side for side in (node.left, node.right) if not _is_none(side)]
        inner = _type(sides[0]) if len(sides) == 1 else None
        return None if inner is None else f"{inner}?"
    if isinstance(node, ast.Subscript):
        outer, inner = ast.unparse(node.value).rpartition(".")[2], _type(node.slice)
        if inner is not None and outer == "Optional":
            return f"{inner}?"
        if inner is not None and outer in _LISTS:
            return f"{inner}[]"
    return None


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _result(node: ast.expr | None) -> str | None:
    if node is None or _is_none(node):
        return "()"
    outer = ast.unparse(node.value).rpartition(".")[2] if isinstance(node, ast.Subscript) else ""
    if isinstance(node, ast.Subscript) and outer in ("tuple", "Tuple"):
        items = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        types = [type for item in items if (type := _type(item)) is not None]
        return f"({', '.join(types)})" if len(types) == len(items) else None
    return _type(node)


def _default(node: ast.expr) -> str | None:
    try:
        value = ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError):
        text = ast.unparse(node)
        # A dtype such as `torch.float32` is written without the module.
        return text.removeprefix("torch.") if text.startswith("torch.") else None
    if isinstance(value, str):
        return json.dumps(value)
    if value is None or isinstance(value, (bool, int, float)):
        return str(value)
    return None
