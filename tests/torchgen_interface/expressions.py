"""Expressions over the modules of PyTorch's generator, right ones and mistakes, which both sides evaluate.

A line of `expressions.txt` that ends with a colon names the module whose names the following expressions may use, and
those of `model` and `api.types`. `function` makes the function of an entry.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from tests.torchgen_interface.conftest import Side

__all__ = ["expressions", "value"]

#: The tags that entries may have.
TAGS = {"core", "inplace_view", "view_copy"}


def expressions() -> Iterator[tuple[str, str]]:
    """Each expression with its module."""
    module = ""
    for line in (Path(__file__).parent / "expressions.txt").read_text(encoding="utf-8").splitlines():
        if line.endswith(":"):
            module = line[:-1]
        elif line:
            yield module, line


def function(side: Side, schema: str, **fields: object) -> Any:
    """The function of an entry with these fields."""
    model = side.module("model")
    return model.NativeFunction.from_yaml({"func": schema, **fields}, model.Location("a.yaml", 1), TAGS)[0]


def value(side: Side, module: str, expression: str) -> Any:
    """What an expression is on a side: a value, or the type of the exception that it raises."""
    names = {**vars(side.module("model")), **vars(side.module("api.types")), **vars(side.module(module))}
    plain = {"use_const_ref_for_mutable_tensors": False, "use_ilistref_for_tensor_lists": False}
    try:
        with side.module("local").parametrize(**plain):
            result = eval(expression, {**names, module: side.module(module), "function": partial(function, side)})
    except NameError:
        raise
    except Exception as error:
        return type(error)
    return list(result) if hasattr(result, "__next__") else result
