"""Which statements of a Python source can be cut out of it, and whether the rest of the source stays what it is."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final

from opwright.dialects.python_source import PARSE_ERRORS
from opwright.migrate.importing.cuts import ByteEdit, BytePlaces, applied, joined

_LONE: Final = re.compile(r"\r(?!\n)")
_SEMICOLON: Final = re.compile(rb"[ \t\f]*;[ \t\f]*")


class PythonCutter:
    """Collects the cuts of one source."""

    def __init__(self, text: str) -> None:
        self.places: Final = BytePlaces(text)
        self._raw = self.places.raw
        self._has_lone = _LONE.search(text) is not None
        self._tree = _parsed(self._raw)
        self._starts = [0]
        for line in self._raw.split(b"\n")[:-1]:
            self._starts.append(self._starts[-1] + len(line) + 1)
        self._cut: list[ast.AST] = []
        self._bodies: dict[int, list[ast.stmt]] = {}
        self._by_start: dict[int, ast.AST] = {}
        for node in ast.walk(self._tree) if self._tree is not None else ():
            for body in _bodies(node):
                self._bodies.update({id(statement): body for statement in body})
                for statement in body:
                    if isinstance(statement, ast.Expr):
                        self._by_start[self._range(statement)[0]] = statement
            for decorator in getattr(node, "decorator_list", ()):
                self._by_start[self._range(decorator)[0]] = decorator

    def add(self, at: int) -> str:
        """Cut the statement, or the decorator, that begins at a character; or the reason why it stays."""
        if self._has_lone:
            return "the source has a carriage return that ends no line of Windows"
        node = self._by_start.get(self.places.byte(at))
        if node is None:
            return "it shares a statement with other code"
        if not isinstance(node, ast.stmt) and not self._is_line(node):
            return "its decorator shares lines with other code"
        if node not in self._cut:
            self._cut.append(node)
        return ""

    def _is_line(self, decorator: ast.AST) -> bool:
        """Whether a decorator has its lines for itself."""
        start, end = self._range(decorator)
        before, after = self._raw[:start].rpartition(b"\n")[2], self._raw[end:].partition(b"\n")[0]
        return before.strip(b" \t\f") == b"@" and not after.partition(b"#")[0].strip()

    def edits(self) -> tuple[list[ByteEdit], list[tuple[int, int]], list[tuple[int, str]]]:
        """The cuts, their lines, and the lines of what stays after all, which is none."""
        edits: list[ByteEdit] = []
        for edit in sorted(map(self._edit, self._cut)):
            # Neighbours on a line share a semicolon.
            if edits and not edits[-1].text and not edit.text and edit.start < edits[-1].end:
                edit = ByteEdit(edits[-1].start, max(edit.end, edits.pop().end))
            edits.append(edit)
        ranges = [self._range(node) for node in self._cut]
        return edits, [(self.places.line(start), self.places.line(end - 1)) for start, end in ranges], []

    def _range(self, node: ast.AST) -> tuple[int, int]:
        """The bytes of a statement or an expression. Python counts columns in bytes."""
        assert isinstance(node, (ast.expr, ast.stmt)), "other nodes have no place"
        last = node.end_lineno or node.lineno
        return (
            self._starts[node.lineno - 1] + node.col_offset,
            self._starts[last - 1] + (node.end_col_offset or node.col_offset),
        )

    def _edit(self, node: ast.AST) -> ByteEdit:
        start, end = self._range(node)
        if not isinstance(node, ast.stmt):
            return ByteEdit(self._raw.rfind(b"@", 0, start), end)
        body = self._bodies[id(node)]
        is_module = self._tree is not None and body is self._tree.body
        if node is body[0] and not is_module and all(statement in self._cut for statement in body):
            # A block has one statement at least.
            return ByteEdit(start, end, b"pass")
        # The semicolon goes too that divides the statement from its neighbour on the line.
        following = _SEMICOLON.match(self._raw, end)
        if following is not None:
            return ByteEdit(start, following.end())
        line = self._raw.rfind(b"\n", 0, start) + 1
        before = re.search(rb"[ \t\f]*;[ \t\f]*\Z", self._raw[line:start])
        return ByteEdit(line + before.start() if before is not None else start, end)

    def keeps_all_else(self, edits: Sequence[ByteEdit]) -> bool:
        """Whether the source after the edits has all statements that it had, but for what is cut."""
        edits = joined(self._raw, edits)
        if any(first.end > second.start for first, second in pairwise(edits)):
            return False
        after = _parsed(applied(self._raw, edits))
        wanted = _parsed(self._raw)
        if after is None or wanted is None:
            return False
        gone = {self._range(node) for node in self._cut}
        for node in [*ast.walk(wanted)]:
            for body in _bodies(node):
                left = [statement for statement in body if self._range(statement) not in gone]
                body[:] = left or ([ast.Pass()] if body and body is not wanted.body else [])
            decorators = getattr(node, "decorator_list", None)
            if decorators is not None:
                decorators[:] = [decorator for decorator in decorators if self._range(decorator) not in gone]
        return ast.dump(wanted) == ast.dump(after)


def _parsed(raw: bytes) -> ast.Module | None:
    """The tree of a source; None if it is not Python of this version."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(raw.decode())
    except PARSE_ERRORS:
        return None


def _bodies(node: ast.AST) -> Iterator[list[ast.stmt]]:
    for field in ("body", "orelse", "finalbody"):
        body = getattr(node, field, None)
        if isinstance(body, list):
            yield body
