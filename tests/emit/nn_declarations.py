"""How a declaration that somebody wrote differs from the generated one of the same function."""

from __future__ import annotations

import ast
from collections.abc import Sequence

#: `torch.types` calls Python's own types so; they are the same.
_SAME = {"_int": "int", "_float": "float", "_bool": "bool"}


class _Plain(ast.NodeTransformer):
    """Calls types by Python's names."""

    def visit_Name(self, node: ast.Name) -> ast.Name:
        return ast.Name(_SAME.get(node.id, node.id))


def parts(function: ast.FunctionDef) -> list[str]:
    """The parameters of a declaration, each with type and default, `*` among them, and `-> RESULT` at the end."""
    spelt = _Plain().visit(function).args
    positional = [*spelt.posonlyargs, *spelt.args]
    defaults = [None] * (len(positional) - len(spelt.defaults)) + spelt.defaults
    parts = [_part(argument, default) for argument, default in zip(positional, defaults, strict=True)]
    if spelt.vararg is not None:
        parts.append(f"*{_part(spelt.vararg, None)}")
    elif spelt.kwonlyargs:
        parts.append("*")
    parts += [_part(kwonlyarg, default) for kwonlyarg, default in zip(spelt.kwonlyargs, spelt.kw_defaults, strict=True)]
    return [*parts, f"-> {ast.unparse(function.returns)}" if function.returns is not None else "->"]


def _part(arg: ast.arg, default: ast.expr | None) -> str:
    type = "" if arg.annotation is None else f": {ast.unparse(arg.annotation)}"
    return f"{arg.arg}{type}" + ("" if default is None else f"={ast.unparse(default)}")


def _name(part: str) -> str:
    return part.partition(":")[0].partition(" ")[0]


def differences(written: Sequence[str], generated: Sequence[str]) -> tuple[str, ...]:
    """The parts that are written otherwise, then `-NAME` for each that is left out, then `~A, B` for another order."""
    names, known = [_name(name) for name in written], [_name(name) for name in generated]
    otherwise = [name for name in written if name not in generated]
    left_out = [f"-{name}" for name in known if name not in names]
    order = [name for name in names if name in known]
    usual = [name for name in known if name in names]
    moved = [name for name, other in zip(order, usual, strict=True) if name != other]
    return (*otherwise, *left_out, *([f"~{', '.join(moved)}"] if moved else []))
