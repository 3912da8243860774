"""Reads the texts of backend files: words, C++ names, headers and code."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final

from opwright.backends import backend_codes
from opwright.cpp.text import is_header
from opwright.dialects.names import IDENTIFIER
from opwright.source.diagnostic import Diagnostics, did_you_mean, shorten
from opwright.source.expect import expect_string
from opwright.source.lazy import lazy_pattern
from opwright.source.nodes import Node, Scalar


def read_word(node: Node, what: str, words: Iterable[str], sink: Diagnostics) -> str:
    """A text that is one of some words; empty, with a diagnostic, for others."""
    scalar = expect_string(node, f"`{what}`", sink)
    if scalar is None:
        return ""
    names = list(words)
    if scalar.value in names:
        return scalar.value
    help = did_you_mean(scalar.value, names, "there are " + ", ".join([f"`{word}`" for word in names]))
    sink.error(backend_codes.BACKEND_UNKNOWN_WORD, f"`{what}` cannot be `{scalar.value}`", scalar.span, help=help)
    return ""


def read_part(
    fields: Mapping[str, Node], name: str, read: Callable[[Node, str, Diagnostics], str], sink: Diagnostics
) -> str:
    """Text of one of the fields of a mapping; empty if it does not have the field."""
    return read(fields[name], name, sink) if name in fields else ""


_QUALIFIED: Final = lazy_pattern(rf"(?:::)?{IDENTIFIER.pattern}(?:::{IDENTIFIER.pattern})*")


def read_text(node: Node, what: str, sink: Diagnostics) -> str:
    """A text; empty, with a diagnostic, if the node is none."""
    scalar = expect_string(node, f"`{what}`", sink)
    return "" if scalar is None else scalar.value


def read_identifier(node: Node, what: str, sink: Diagnostics) -> str:
    """Name of a class, a macro or a function, without namespaces."""
    return _matching(node, what, IDENTIFIER.fullmatch, "a C++ identifier", sink)


def read_qualified_name(node: Node, what: str, sink: Diagnostics) -> str:
    """A C++ name that may have namespaces, such as `acme::empty`."""
    return _matching(node, what, _QUALIFIED.fullmatch, "a C++ name", sink)


def read_header(node: Node, what: str, sink: Diagnostics) -> str:
    """Path of a header, as an `#include` names it between its quotes."""
    return _matching(node, what, is_header, "the path of a header", sink)


def read_code(node: Node, what: str, sink: Diagnostics) -> str:
    """C++ code that the author of the file answers for: it is not empty, and has no line breaks around it."""
    scalar = expect_string(node, f"`{what}`", sink)
    if scalar is None:
        return ""
    text = scalar.value.strip()
    if not text:
        sink.error(backend_codes.BACKEND_CPP_TEXT, f"`{what}` is empty", scalar.span)
    return text


def _matching(node: Node, what: str, has_form: Callable[[str], object], wanted: str, sink: Diagnostics) -> str:
    scalar: Scalar | None = expect_string(node, f"`{what}`", sink)
    if scalar is None:
        return ""
    if has_form(scalar.value):
        return scalar.value
    sink.error(
        backend_codes.BACKEND_CPP_TEXT, f"`{shorten(scalar.value)}` is not {wanted}, which `{what}` needs", scalar.span
    )
    return ""
