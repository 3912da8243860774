"""C++ sources as the grammar can read them: macros that stand for qualifiers and statements are blanked, and the bodies
of macros and the launches of kernels are trees of their own, with the places of the whole source.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from opwright.dialects.derivatives.formula_shapes import formula_parser, walk
from opwright.source.record_fields import NamedTuple

if TYPE_CHECKING:
    from tree_sitter import Node


_REGISTRATION: Final = re.compile(
    rb"^[^\S\n]*(?:(?:STABLE_)?TORCH_LIBRARY\w*\s*\(|PYBIND11_MODULE\s*\(|static\s+auto\s+\w+\s*=\s*torch::RegisterOperators\b)",
    re.MULTILINE,
)
#: A word in place of `static` or `inline`.
_QUALIFIER: Final = re.compile(
    rb"(?m)(?:^[^\S\n]*)((?:[A-Z][A-Z0-9]*_[A-Z0-9_]+[^\S\n]+)+)(?=[A-Za-z_:]+[\w:<>,&* ]*[\s(])"
)
_KEYWORD: Final = re.compile(rb"__(?:restrict__|restrict|global__|device__|host__|forceinline__|shared__)\b")
#: A macro with arguments that is a whole line.
_STATEMENT: Final = re.compile(rb"(?m)^[^\S\n]*[A-Z][A-Z0-9]*_[A-Z0-9_]+\([\w, ]*\)(?=[^\S\n]*(?:\\?\n))")
_LAUNCH: Final = re.compile(rb"<<<(.*?)>>>", re.DOTALL)
_DIRECTIVE: Final = re.compile(rb"(?m)^[^\S\n]*#.*(?:\\\n.*)*")
_BLANK: Final = re.compile(rb"[^\n]")
_TEXT: Final = re.compile(rb'"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)*\'|//[^\n]*|/\*.*?\*/', re.DOTALL)


class ByteRange(NamedTuple):
    """Bytes of a source, from the first to after the last."""

    start: int
    end: int


def tree_of(source: bytes) -> Node:
    """The tree of a source."""
    plain = _without(source, registrations(source))
    for pattern in (_KEYWORD, _STATEMENT):
        plain = pattern.sub(lambda match: _blank(match[0]), plain)
    plain = _QUALIFIER.sub(lambda match: match[0].replace(match[1], _blank(match[1])), plain)
    plain = _LAUNCH.sub(lambda match: _blank(match[0]), plain)
    return formula_parser().parse(plain).root_node


def trees_within(source: bytes, root: Node) -> Iterator[tuple[ByteRange, Node]]:
    """The bodies of macros and the arguments of launches, each with its span and the tree that covers it."""
    for node in walk(root):
        if node.type == "preproc_arg":
            yield _tree_within(source, ByteRange(node.start_byte, node.end_byte), b"void _(){", b";}")
    for match in _LAUNCH.finditer(source):
        yield _tree_within(source, ByteRange(match.start(1), match.end(1)), b"void _(){_(", b");}")


def _tree_within(source: bytes, span: ByteRange, before: bytes, after: bytes) -> tuple[ByteRange, Node]:
    from tree_sitter import Parser, Range  # It may be missing.

    text = source[span.start : span.end].replace(b"\\\n", b" \n").replace(b"##", b"  ")
    text = re.sub(rb"(?<!')#(?=\w)", b" ", text)
    start = max(span.start - len(before), 0)
    plain = source[:start] + before[start - span.start :] + text + after
    # Parsed is only the text: what is before it, of each of many macros, would be the square of the source.
    end = (source.count(b"\n", 0, span.start) + text.count(b"\n"), 0)
    place = Range((source.count(b"\n", 0, start), 0), (end[0] + 1, 0), start, len(plain))
    parser = Parser(formula_parser().language, included_ranges=[place])
    return span, parser.parse(plain).root_node


def registrations(source: bytes) -> list[ByteRange]:
    """The blocks and statements that register operators, which `opwright import` moves."""
    blocks: list[ByteRange] = []
    plain = _TEXT.sub(lambda match: _blank(match[0]), source)
    for match in _REGISTRATION.finditer(plain):
        if blocks and match.start() < blocks[-1].end:
            continue
        is_block = b"RegisterOperators" not in match[0]
        opening = plain.find(b"{", match.end()) if is_block else -1
        end = _closing(plain, opening) if opening >= 0 else plain.find(b";", match.end())
        if end >= 0:
            start = match.end() - len(match[0].lstrip())
            blocks.append(ByteRange(start, end + 1))
    return blocks


def _closing(text: bytes, opening: int) -> int:
    depth = 0
    for match in re.compile(rb"[{}]").finditer(text, opening):
        depth += 1 if match[0] == b"{" else -1
        if not depth:
            return match.start()
    return -1


def _without(source: bytes, spans: list[ByteRange]) -> bytes:
    for span in spans:
        source = source[: span.start] + _blank(source[span.start : span.end]) + source[span.end :]
    return source


def _blank(text: bytes) -> bytes:
    return _BLANK.sub(b" ", text)
