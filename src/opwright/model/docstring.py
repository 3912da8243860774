"""Docstrings of functions and methods that C++ code binds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from opwright.source.named_tuple import NamedTuple

if TYPE_CHECKING:
    from opwright.source.span import Span

__all__ = ["Docstring"]


class Docstring(NamedTuple):
    """The docstring of a function, without blanks at its ends, and where the module gives it."""

    text: str
    span: Span
