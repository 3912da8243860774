"""Calls of operators as Python's type checkers read them: parameters, returns, and a docstring with the schema."""

from __future__ import annotations

import keyword
from functools import cache
from typing import Final

from opwright.convention.stub_types import argument_type, default_text, return_type
from opwright.model.native_function import NativeFunction
from opwright.release.operator_names.python_bindings import NUMBERS_AS_TENSORS
from opwright.schema.function import Argument

__all__ = ["call", "docstring", "is_attribute"]

_KEYWORDS: Final = frozenset(keyword.kwlist)


def call(function: NativeFunction, receiver: str = "") -> str:
    """The parameters and the return of an overload, as `(self: _Tensor, *, out: _Tensor) -> _Tensor`.

    `receiver` names a first parameter that is passed by position alone: that of methods.
    """
    arguments = function.arguments
    numbers = function.root_name in NUMBERS_AS_TENSORS.in_any_release
    shown = [parameter(argument, numbers) for argument in arguments.positional]
    closed = _unnameable(arguments.positional)
    if closed:
        # A call cannot name a keyword of Python, so this parameter and those before it are positional.
        shown.insert(closed, "/")
    if receiver:
        shown[:0] = [receiver] if closed else [receiver, "/"]
    rest = arguments.keyword_only + arguments.out
    if rest:
        shown += ["*", *[parameter(argument, numbers) for argument in rest]]
    return f"({', '.join(shown)}) -> {return_type(function.schema.returns)}"


def _unnameable(positional: tuple[Argument, ...]) -> int:
    """The number of parameters up to the last one whose name is a keyword of Python."""
    return max([index for index, argument in enumerate(positional, 1) if argument.name in _KEYWORDS], default=0)


@cache
def parameter(argument: Argument, numbers: bool) -> str:
    """One parameter with its type and default; with `numbers`, one that takes a number in place of a tensor."""
    name = f"{argument.name}_" if argument.name in _KEYWORDS else argument.name
    type = argument_type(argument.type)
    if numbers and type == "_Tensor" and not argument.is_write:
        type = "_Tensor | _Number"
    return f"{name}: {type}{'' if argument.default is None else f' = {default_text(argument)}'}"


def docstring(function: NativeFunction) -> str:
    """A docstring that shows the schema of an overload."""
    text = f"{function.namespace}::{function.schema}"
    if "\\" in text or '""' in text or text.endswith('"'):
        return repr(text)
    return f'"""{text}"""'


def is_attribute(name: str) -> bool:
    """Whether a name can follow a dot, and is not mangled in a class.

    >>> is_attribute("Tensor"), is_attribute("from"), is_attribute("3d"), is_attribute("__private")
    (True, False, False, False)
    """
    private = name.startswith("__") and not name.endswith("__")
    return name.isidentifier() and name not in _KEYWORDS and not private
