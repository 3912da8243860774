"""tree-sitter for Pyodide: the classes that Opwright uses, over the JavaScript library of the same name.

Formulas are short, so a parsed tree becomes Python objects at once. `playground_parser` is a module that the worker
registers; its `parse` returns a tree as JSON, with offsets in bytes.
"""

from __future__ import annotations

import json
from typing import Any

__all__ = ["Language", "Node", "Parser", "Tree"]


class Node:
    """A node of a tree, with what Opwright reads of it."""

    def __init__(self, row: list[Any], parent: Node | None, source: bytes) -> None:
        self.type, self.start_byte, self.end_byte, self.is_named, self.has_error, self.is_missing, self.field = row[:7]
        self.parent = parent
        self.id = id(self)
        self.text = source[self.start_byte : self.end_byte]
        self.children = [Node(child, self, source) for child in row[7]]

    @property
    def named_children(self) -> list[Node]:
        """The children that have a name in the grammar."""
        return [child for child in self.children if child.is_named]

    @property
    def is_error(self) -> bool:
        """Whether the node stands for text that the grammar does not know."""
        return bool(self.type == "ERROR")

    def child_by_field_name(self, name: str) -> Node | None:
        """The first child in a field; None if there is none."""
        return next((child for child in self.children if child.field == name), None)


class Tree:
    """A parsed text."""

    def __init__(self, root_node: Node) -> None:
        self.root_node = root_node


class Language:
    """The one language of the worker, C++."""

    def __init__(self, language: object) -> None:
        self.language = language


class Parser:
    """Parses C++."""

    def __init__(self, language: Language) -> None:
        self.language = language

    def parse(self, source: bytes) -> Tree:
        """The tree of a text. Each byte goes to JavaScript as one character, so that offsets are those of bytes."""
        from playground_parser import parse

        return Tree(Node(json.loads(parse(source.decode("latin-1"))), None, source))
