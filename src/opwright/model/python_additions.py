"""What Python has besides functions: deprecated signatures, which map to today's functions, and docstrings."""

from __future__ import annotations

from opwright.model.native_function import NativeFunction
from opwright.schema.function import FunctionSchema
from opwright.source.named_tuple import NamedTuple
from opwright.source.span import Span

__all__ = ["Docstring"]


class DeprecatedSignature(NamedTuple):
    """One signature of `deprecated.yaml` with the function that it calls.

    `passed` are the values passed to the C++ function, in its order: names of the signature's arguments, and constants.
    `span` is that of the signature in the entry.
    """

    schema: FunctionSchema
    function: NativeFunction
    passed: tuple[str, ...]
    span: Span


class Docstring(NamedTuple):
    """The docstring of a function, without blanks at its ends, and where the module gives it."""

    text: str
    span: Span
