"""Deprecated signatures: Python takes them still, and calls today's function."""

from __future__ import annotations

from typing import NamedTuple

from opwright.model.native_function import NativeFunction
from opwright.schema.function import FunctionSchema
from opwright.source.span import Span


class DeprecatedSignature(NamedTuple):
    """One signature of `deprecated.yaml` with the function that it calls.

    `passed` are the values that the C++ function is called with, in its order: names of the signature's arguments, and
    constants. `span` is where the entry spells the signature.
    """

    schema: FunctionSchema
    function: NativeFunction
    passed: tuple[str, ...]
    span: Span
