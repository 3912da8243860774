"""Fault that parsing a schema raises: what is wrong, and where in the text."""

from __future__ import annotations

import re
from typing import Final

from opwright.source import codes
from opwright.source.diagnostic import Diagnostic, Label, Severity, Suggestion
from opwright.source.records import Copyable
from opwright.source.span import Span
from opwright.source.text import SourceFile


class SchemaFault(Copyable, Exception):
    """A mistake in schema text, at character offsets of that text.

    The parser knows nothing about files. Callers map `start` and `end` to a span of a file, as `opwright.dialects` does
    for YAML scalars, or call `diagnostic()` for text outside files. `others` are further mistakes of the text, which do
    not follow from this one.
    """

    def __init__(
        self,
        code: str,
        message: str,
        start: int,
        end: int,
        *,
        label: str = "",
        help: str | Suggestion = "",
        others: tuple[SchemaFault, ...] = (),
    ) -> None:
        super().__init__(message)
        self.code: Final = code
        self.message: Final = message
        self.start: Final = start
        self.end: Final = end
        self.label: Final = label
        self.help: Final = help
        self.others: Final = others

    def at(self, span: Span) -> Diagnostic:
        """Diagnostic of this fault, placed at `span`."""
        return Diagnostic(self.code, Severity.ERROR, self.message, (Label(span, self.label),), (), self.help)

    def diagnostic(self, text: str) -> Diagnostic:
        """Diagnostic of this fault for text outside files."""
        return self.at(Span(SourceFile("<schema>", text), self.start, self.end))


#: The name of a part of a schema.
IDENTIFIER: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def unexpected_fault(text: str, position: int, wanted: str) -> SchemaFault:
    """Fault of a text that has something else than what is wanted at a position."""
    for after, pattern, new in _MEANT:
        meant = pattern.match(text, position) if after in wanted else None
        if meant is not None:
            message = f"expected {wanted}, found `{meant.group()}`"
            help = f"write `{meant.expand(new)}`"
            return SchemaFault(codes.SCHEMA_SYNTAX, message, position, meant.end(), help=help)
    match = IDENTIFIER.match(text, position)
    end = match.end() if match else min(position + 1, len(text))
    shown = f"`{text[position:end]}`" if position < len(text) else "the end of the text"
    help = _UNEXPECTED.get(text[position:end], "")
    if text.startswith(" -> ", position) and ")" in wanted:
        help = "close the list of arguments with `)`"
    elif position == len(text) and "->" in wanted:
        help = "write ` -> Tensor` after the arguments, or ` -> ()` if nothing is returned"
    message = f"expected {wanted}, found {shown}"
    return SchemaFault(codes.SCHEMA_SYNTAX, message, position, max(end, position), help=help)


#: What other languages have in the place of what is wanted, as its description says: a pattern, and what a schema has.
_MEANT: Final = (
    ("` -> `", re.compile(r" *(?:=>|:) *"), " -> "),
    ("`=`", re.compile(r" += *| *= +"), "="),
    ("name", re.compile(r" +(\([^()]*\))"), r"\1"),
    ("name", re.compile(r" \| None\b"), "?"),
    ("name", re.compile(r"!"), "(a!)"),
    ("a type", re.compile(r"\* +"), "*, "),
    ("a type", re.compile(r"\[([^\[\]]*)\]$"), r"(\1)"),
)

#: What to write instead of characters that schemas do not have there.
_UNEXPECTED: Final = {"-": "names have `_` instead of `-`", ";": "delete the `;`"}
