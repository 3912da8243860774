"""The docstrings of functions: what the entries say, and the schemas."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import dedent

from opwright.emit.library.python.calls import OperatorCall
from opwright.model.native_function import NativeFunction
from opwright.syntax.python import docstring_text

__all__ = ["docstring"]


def docstring(calls: Sequence[OperatorCall]) -> list[str]:
    """The lines of the docstring of a function: the texts of its entries, each once, then the schemas."""
    overloads = [overload for call in calls for overload in call.overloads]
    texts = dict.fromkeys([text for overload in overloads if (text := dedent(overload.library_fields.doc).strip())])
    paragraphs = list(texts) or [_default_text(overloads[0])]
    schemas = "\n".join([f"{overload.namespace}::{overload.schema}" for overload in overloads])
    text = "\n\n".join([*paragraphs, f"Operators::\n\n{_indent(schemas)}"])
    return [*_indent(f'"""{docstring_text(text)}').splitlines(), '    """']


def _indent(text: str) -> str:
    return "\n".join([f"    {line}" if line else "" for line in text.splitlines()])


def _default_text(overload: NativeFunction) -> str:
    """What is said of an operator whose entries say nothing."""
    name = overload.name
    if name.inplace and not name.dunder:
        return f"In-place form of `{name.base}`."
    return f"The operator `{overload.namespace}::{name.name}`."
