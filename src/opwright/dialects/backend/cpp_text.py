"""Names and texts of C++ in backend files."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from opwright.dialects.names import IDENTIFIER
from opwright.source import codes
from opwright.source.diagnostic import Diagnostics, shorten
from opwright.source.expect import expect_string
from opwright.source.nodes import Node, Scalar
from opwright.source.patterns import lazy_pattern
from opwright.syntax.cpp import is_header

__all__ = ["read_code", "read_header", "read_identifier", "read_qualified_name", "read_text"]

_QUALIFIED: Final = lazy_pattern(rf"(?:::)?{IDENTIFIER.pattern}(?:::{IDENTIFIER.pattern})*")


def read_text(node: Node, what: str, sink: Diagnostics) -> str:
    """A text; empty, with a diagnostic, if the node is none."""
    scalar = expect_string(node, f"`{what}`", sink)
    return "" if scalar is None else scalar.value


def read_identifier(node: Node, what: str, sink: Diagnostics) -> str:
    """The name of a class, a macro or a function, without namespaces."""
    return _matching(node, what, _is_identifier, "a C++ identifier", sink)


def read_qualified_name(node: Node, what: str, sink: Diagnostics) -> str:
    """A C++ name that may have namespaces, such as `acme::empty`."""
    return _matching(node, what, _is_qualified_name, "a C++ name", sink)


def read_header(node: Node, what: str, sink: Diagnostics) -> str:
    """The path of a header, as an `#include` names it between its quotes."""
    return _matching(node, what, is_header, "the path of a header", sink)


def read_code(node: Node, what: str, sink: Diagnostics) -> str:
    """C++ code that the author of the file answers for: it is not empty, and has no line breaks around it."""
    scalar = expect_string(node, f"`{what}`", sink)
    if scalar is None:
        return ""
    text = scalar.value.strip()
    if not text:
        sink.error(codes.BACKEND_CPP_TEXT, f"`{what}` is empty", scalar.span)
    return text


def _is_identifier(text: str) -> bool:
    return IDENTIFIER.fullmatch(text) is not None


def _is_qualified_name(text: str) -> bool:
    return _QUALIFIED.fullmatch(text) is not None


def _matching(node: Node, what: str, has_form: Callable[[str], bool], wanted: str, sink: Diagnostics) -> str:
    scalar: Scalar | None = expect_string(node, f"`{what}`", sink)
    if scalar is None:
        return ""
    if has_form(scalar.value):
        return scalar.value
    sink.error(codes.BACKEND_CPP_TEXT, f"`{shorten(scalar.value)}` is not {wanted}, which `{what}` needs", scalar.span)
    return ""
