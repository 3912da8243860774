"""Derivatives as Python: what a library with the stable C++ interface registers when its package is imported."""

from __future__ import annotations

import enum

from opwright.model.native_function import NativeFunction
from opwright.schema.function import Argument
from opwright.schema.types import ListType
from opwright.source.named_tuple import NamedTuple

__all__ = [
    "PythonFormula",
    "PythonForward",
    "PythonGradient",
    "SavedForm",
    "SavedValue",
    "gives_list",
    "is_tensor_list",
]


class SavedForm(enum.Enum):
    """How a value is kept from the forward call: as a tensor, as tensors of a list, or as anything else."""

    TENSOR = enum.auto()
    TENSORS = enum.auto()
    FACT = enum.auto()


class SavedValue(NamedTuple):
    """What is kept: the name that formulas read, and the expression of the forward call."""

    name: str
    expression: str
    form: SavedForm


class PythonFormula(NamedTuple):
    """A backward formula for one or more arguments.

    `gradients` are the positions of the results whose gradients it reads.
    """

    text: str
    arguments: tuple[str, ...]
    saved: tuple[SavedValue, ...]
    gradients: frozenset[int]


class PythonForward(NamedTuple):
    """A forward formula for one or more results, by position. `tangents` are the arguments whose tangents it reads."""

    text: str
    results: tuple[int, ...]
    tangents: tuple[str, ...]


class PythonGradient(NamedTuple):
    """The formulas of an operator, and whether each of its results is differentiable.

    Without formulas it writes to arguments: calls that
    would record a gradient are refused, and what they write counts as changed.
    """

    function: NativeFunction
    formulas: tuple[PythonFormula, ...] = ()
    differentiable: tuple[bool, ...] = ()
    forward: tuple[PythonForward, ...] = ()


def is_tensor_list(argument: Argument) -> bool:
    """Whether an argument is a list of tensors."""
    return isinstance(argument.type, ListType) and argument.type.is_tensor_like


def gives_list(function: NativeFunction) -> bool:
    """Whether a function returns one list."""
    returns = function.schema.returns
    return len(returns) == 1 and isinstance(returns[0].type, ListType)
