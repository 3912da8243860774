"""Runs beside PyTorch: compares a module of stubs with the operators that are there. Prints what differs.

Called with the module's path. An overload's stub must have the arguments of the operator's schema: names, order, which
are passed by name alone, which have defaults; and operators must be listed with all their overloads.
"""

from __future__ import annotations

import ast
import keyword
import sys
import warnings
from pathlib import Path

import torch

warnings.simplefilter("ignore")

Parameter = tuple[str, bool, bool]


def typed(function: ast.FunctionDef) -> list[Parameter]:
    """The parameters of a stub: name, whether it is passed by name alone, whether it may be left out."""
    spelt = function.args
    positional = [*spelt.posonlyargs, *spelt.args]
    required = len(positional) - len(spelt.defaults)
    arguments = [(arg.arg, False, index >= required) for index, arg in enumerate(positional)]
    return arguments + [
        (kwonlyarg.arg, True, default is not None)
        for kwonlyarg, default in zip(spelt.kwonlyargs, spelt.kw_defaults, strict=True)
    ]


def registered(overload: torch._ops.OpOverload) -> list[Parameter]:
    """The same of an operator that is there."""
    return [
        (
            f"{argument.name}_" if keyword.iskeyword(argument.name) else argument.name,
            argument.kwarg_only,
            argument.has_default_value(),
        )
        for argument in overload._schema.arguments
    ]


def takes_numbers(overload: torch._ops.OpOverload) -> bool | None:
    """Whether a number may stand for the overload's first argument, a tensor; None where that is none."""
    first = overload._schema.arguments[:1]
    if not first or str(first[0].type) != "Tensor" or first[0].kwarg_only:
        return None
    try:
        overload(1)
    except RuntimeError as error:
        return "Expected a value of type 'Tensor'" not in str(error)
    return True


def compare(operator: ast.ClassDef) -> None:
    """Print in what the class of an operator differs from the operator."""
    packet = getattr(torch.ops.aten, operator.name)
    functions = {
        stmt.name: stmt for stmt in operator.body if isinstance(stmt, ast.FunctionDef) and stmt.name != "__call__"
    }
    calls = [stmt for stmt in operator.body if isinstance(stmt, ast.FunctionDef) and stmt.name == "__call__"]
    named = {name for name in functions if not keyword.iskeyword(name)}
    if missing := named - set(packet.overloads()):
        print(f"{operator.name}: there are no overloads {sorted(missing)}")
    if len(calls) < len(functions):
        print(f"{operator.name}: {len(functions)} overloads and {len(calls)} ways to call")
    for name, function in functions.items():
        overload = getattr(packet, name)
        if typed(function) != registered(overload):
            print(f"{operator.name}.{name}: {typed(function)} for {overload._schema}")
        numbers = takes_numbers(overload)
        # `_conj` fails otherwise for want of a tensor.
        if numbers is not None and operator.name != "_conj":
            first = [*function.args.posonlyargs, *function.args.args][0]
            assert first.annotation is not None
            written = overload._schema.arguments[0].is_write
            if not written and ("_Number" in ast.unparse(first.annotation)) != numbers:
                print(f"{operator.name}.{name}: numbers for tensors: {numbers}")


def main() -> None:
    """Compare every operator of the module."""
    tree = ast.parse(Path(sys.argv[1]).read_text(encoding="utf-8"))
    classes = {stmt.name: stmt for stmt in tree.body if isinstance(stmt, ast.ClassDef)}
    count = 0
    for name in (stmt.target.id for stmt in classes["Namespace"].body if isinstance(stmt, ast.AnnAssign)):  # type: ignore[union-attr]
        compare(classes[name])
        count += 1
    print(f"compared {count}")


main()
