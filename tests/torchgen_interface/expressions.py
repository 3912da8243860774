"""Expressions over the modules of PyTorch's generator, right ones and mistakes, which both sides evaluate.

A line of `expressions.txt` that ends with a colon names the module whose names the following expressions may use, and
those of `model` and `api.types`.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.torchgen_interface.conftest import Side

__all__ = ["expressions", "value"]


def expressions() -> Iterator[tuple[str, str]]:
    """Each expression with its module."""
    module = ""
    for line in (Path(__file__).parent / "expressions.txt").read_text(encoding="utf-8").splitlines():
        if line.endswith(":"):
            module = line[:-1]
        elif line:
            yield module, line


def value(side: Side, module: str, expression: str) -> Any:
    """What an expression is on a side: a value, or the type of the exception that it raises."""
    names = {**vars(side.module("model")), **vars(side.module("api.types")), **vars(side.module(module))}
    try:
        result = eval(expression, {**names, module: side.module(module)})
    except NameError:
        raise
    except Exception as error:
        return type(error)
    return list(result) if hasattr(result, "__next__") else result
