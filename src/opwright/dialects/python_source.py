"""Python modules read as data: they are parsed and never run."""

from __future__ import annotations

import ast
import warnings
from typing import Final

from opwright.source.diagnostic import Fault
from opwright.source.span import Span
from opwright.source.text import SourceFile
from opwright.source.yaml_faults import conflict_fault

#: What Python's parser raises for a text, and what it raises for a tree that it cannot write as a text.
PARSE_ERRORS: Final = (SyntaxError, ValueError, RecursionError, MemoryError)

#: The most characters of a module. Its syntax tree takes a hundred times as much memory.
_LONGEST: Final = 1_000_000


def parse_module(file: SourceFile, code: str) -> ast.Module:
    """Syntax tree of a module. Raises Fault with the given code, at the line, if it is not Python."""
    if len(file.text) > _LONGEST:
        raise Fault.at(code, f"the module has more than {_LONGEST:,} characters", first_line(file))
    try:
        # What Python only warns about is not for the user of another program.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(file.text)
    except PARSE_ERRORS as error:
        conflict = conflict_fault(file)
        if conflict is not None:
            raise conflict from None
        line = min(getattr(error, "lineno", None) or 1, file.line_count)
        start = file.offset(line)
        message = f"this is not Python: {getattr(error, 'msg', None) or error}"
        raise Fault.at(code, message, Span(file, start, start + len(file.line_text(line)))) from None


def literal(node: ast.expr) -> object:
    """Value of a constant expression; None for other expressions."""
    try:
        return ast.literal_eval(node)
    except (*PARSE_ERRORS, TypeError):
        return None


def first_line(file: SourceFile) -> Span:
    """The first line of a file, for faults of the whole file."""
    return Span(file, 0, len(file.line_text(1)))


def node_span(file: SourceFile, node: ast.expr | ast.stmt | ast.keyword) -> Span:
    """Span of a node. Python counts columns in bytes."""
    start = _offset(file, node.lineno, node.col_offset)
    end = _offset(file, node.end_lineno or node.lineno, node.end_col_offset or node.col_offset)
    return Span(file, start, max(end, start))


def _offset(file: SourceFile, line: int, column: int) -> int:
    before = file.line_text(line).encode()[:column].decode("utf-8", "replace")
    return file.offset(line, len(before) + 1)
