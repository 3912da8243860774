"""Formulas as syntax trees of C++."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

__all__ = ["LEAD", "formula_parser", "range_of", "source_of", "text_of", "walk"]

#: What stands before a formula, so that the parser reads it as an expression.
LEAD: Final = b"auto _ = "


@cache
def formula_parser() -> Parser:
    """The parser. Loading the grammar takes longer than checking all formulas without it."""
    import tree_sitter_cpp
    from tree_sitter import Language, Parser

    return Parser(Language(tree_sitter_cpp.language()))


def source_of(formula: str) -> bytes:
    """The statement with a formula that the parser reads."""
    return LEAD + formula.encode("utf-8", "surrogatepass") + b";"


def walk(root: Node) -> Iterator[Node]:
    """All nodes of a tree, in the order of the text. Not recursive, because formulas may nest deeply."""
    waiting = [root]
    while waiting:
        node = waiting.pop()
        yield node
        waiting.extend(reversed(node.children))


def text_of(node: Node) -> str:
    """The text of a node."""
    return (node.text or b"").decode("utf-8", "replace")


def range_of(node: Node, source: bytes) -> tuple[int, int]:
    """The characters of the formula that a node covers."""
    before = len(source[len(LEAD) : node.start_byte].decode("utf-8", "replace"))
    return before, before + len(text_of(node))
