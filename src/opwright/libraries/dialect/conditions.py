"""Conditions of the preprocessor in library files."""

from __future__ import annotations

from typing import Final

from opwright.cpp.text import joined_conditions
from opwright.libraries.library_codes import CONDITION
from opwright.source.diagnostic import Diagnostics
from opwright.source.lazy import lazy_pattern
from opwright.source.nodes import Node, Scalar, SequenceNode

#: The characters of a condition: names, numbers, operators, brackets. Quotations and line breaks are not part of it.
_CHARACTERS: Final = lazy_pattern(r"[A-Za-z0-9_ &|<>=!+*%^~?:(),/-]+")
_COMMENT: Final = lazy_pattern(r"/[/*]")
_OPERAND: Final = lazy_pattern(r"[A-Za-z_]\w*|\d\w*")
#: An operator that lacks an operand on one side, or two operands without an operator between them.
_MISFIT: Final = lazy_pattern(
    r"(?:^|\() *(?:&&|\|\||[=<>*/%^?:])|(?:&&|\|\||[=<>!*/%^?:&|+~-]) *(?:\)|$)|(?<!defined)(?<=\w) +(?=\w)"
)


def read_condition(node: Node, sink: Diagnostics) -> str | None:
    """Condition that a text states, or that all texts of a list state together; None if one has a fault."""
    if isinstance(node, SequenceNode):
        parts = [read_condition(item, sink) for item in node.items]
        return None if None in parts else joined_conditions([part for part in parts if part])
    if not isinstance(node, Scalar) or node.kind != "str":
        help = 'write it like `"defined(USE_ROCM)"`'
        sink.error(CONDITION, f"a condition is a text, not {node.description}", node.span, help=help)
        return None
    reason = condition_fault(node.value)
    if reason:
        sink.error(CONDITION, f"this is not a condition of the preprocessor: {reason}", node.span)
        return None
    return " ".join(node.value.split())


def condition_fault(text: str) -> str:
    """Why a text cannot follow `#if`; empty if it can.

    >>> [condition_fault(text) for text in ("!defined(USE_ROCM)", "defined(A", "A // B", "A &&", "1\\n#error")]
    ['', '`(` is never closed', 'it has other characters than names, numbers and operators', 'an operand is missing', \
'it has other characters than names, numbers and operators']
    """
    if not _CHARACTERS.fullmatch(text) or _COMMENT.search(text):
        return "it has other characters than names, numbers and operators"
    depth = 0
    for character in text:
        depth += (character == "(") - (character == ")")
        if depth < 0:
            return "`)` closes nothing"
    if depth:
        return "`(` is never closed"
    if not _OPERAND.search(text) or _MISFIT.search(text):
        return "an operand is missing"
    return ""
