"""C++ sources as the grammar can read them: macros that stand for qualifiers and statements are blanked, and the bodies
of macros and the launches of kernels are trees of their own, with the places of the whole source.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from opwright.dialects.derivatives.formula_shapes import formula_parser, walk
from opwright.source.records import NamedTuple
from opwright.syntax.budget import SourceBudget

if TYPE_CHECKING:
    from tree_sitter import Node, Parser


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
_LAUNCH: Final = re.compile(rb"<<<((?:(?!<<<|>>>).)*)>>>", re.DOTALL)
_DIRECTIVE: Final = re.compile(rb"(?m)^[^\S\n]*#.*(?:\\\n.*)*")
_BLANK: Final = re.compile(rb"[^\n]")
_TEXT: Final = re.compile(rb'"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)*\'|//[^\n]*|/\*.*?\*/', re.DOTALL)

#: Bytes that no parser needs long for, and work for a hundred operations of the parser, after which it may be stopped.
_LONG: Final = 20_000
_PARSER_WORK: Final = 500


class ByteRange(NamedTuple):
    """Bytes of a source, from the first to after the last."""

    start: int
    end: int


def tree_of(source: bytes, budget: SourceBudget) -> Node:
    """The tree of a source. Raises Fault (E0006) if it is too much work."""
    plain = _without(source, registrations(source))
    for pattern in (_KEYWORD, _STATEMENT):
        plain = pattern.sub(lambda match: _blank(match[0]), plain)
    plain = _QUALIFIER.sub(lambda match: match[0].replace(match[1], _blank(match[1])), plain)
    plain = _LAUNCH.sub(lambda match: _blank(match[0]), plain)
    return _parsed(formula_parser(), plain, budget)


def _parsed(parser: Parser, text: bytes, budget: SourceBudget) -> Node:
    """The root of the tree of a text. A long one is parsed once to see whether that comes to an end.

    The parser can only be stopped if it asks for the text piece by piece, and such a tree has no text. One of version
    0.24 or older cannot be stopped at all.
    """
    if len(text) > _LONG:

        def go_on(at: int, _has_error: bool) -> bool:
            budget.take(_PARSER_WORK, min(at, len(text)))
            return False

        with suppress(TypeError):
            parser.parse(lambda at, _point: text[at : at + _LONG], progress_callback=go_on)
    return parser.parse(text).root_node


def trees_within(source: bytes, root: Node, budget: SourceBudget) -> Iterator[tuple[ByteRange, Node]]:
    """The bodies of macros and the arguments of launches, each with its span and the tree that covers it."""
    breaks = [match.start() for match in re.finditer(b"\n", source)]
    bodies = [node for node in walk(root) if node.type == "preproc_arg"]
    spans = [(ByteRange(node.start_byte, node.end_byte), b"void _(){", b";}") for node in bodies]
    spans += [(ByteRange(*match.span(1)), b"void _(){_(", b");}") for match in _LAUNCH.finditer(source)]
    for span, before, after in spans:
        yield span, _tree_within(source, span, before, after, breaks, budget)


def _tree_within(
    source: bytes, span: ByteRange, before: bytes, after: bytes, breaks: Sequence[int], budget: SourceBudget
) -> Node:
    """The tree that covers a span, with what is before and after its text. `breaks` are the ends of lines."""
    from tree_sitter import Parser, Range  # It may be missing.

    budget.check_time(span.start)
    text = source[span.start : span.end].replace(b"\\\n", b" \n").replace(b"##", b"  ")
    text = re.sub(rb"(?<!')#(?=\w)", b" ", text)
    start = max(span.start - len(before), 0)
    plain = source[:start] + before[start - span.start :] + text + after
    # Parsed is only the text: what is before it, of each of many macros, would be the square of the source.
    last = bisect_left(breaks, span.start) + text.count(b"\n")
    place = Range((bisect_left(breaks, start), 0), (last + 1, 0), start, len(plain))
    parser = Parser(formula_parser().language, included_ranges=[place])
    return _parsed(parser, plain, budget)


def registrations(source: bytes) -> list[ByteRange]:
    """The blocks and statements that register operators, which `opwright import` moves."""
    blocks: list[ByteRange] = []
    plain = _TEXT.sub(lambda match: _blank(match[0]), source)
    closings = _closings(plain)
    openings = sorted(closings)
    for match in _REGISTRATION.finditer(plain):
        if blocks and match.start() < blocks[-1].end:
            continue
        if b"RegisterOperators" in match[0]:
            end = plain.find(b";", match.end())
        else:
            first = bisect_left(openings, match.end())
            end = closings[openings[first]] if first < len(openings) else plain.find(b";", match.end())
        if end >= 0:
            start = match.end() - len(match[0].lstrip())
            blocks.append(ByteRange(start, end + 1))
    return blocks


def _closings(text: bytes) -> dict[int, int]:
    """Where each brace is closed, by where it is opened; -1 for one that never is."""
    closings: dict[int, int] = {}
    waiting: list[int] = []
    for match in re.finditer(rb"[{}]", text):
        if match[0] == b"{":
            waiting.append(match.start())
            closings[match.start()] = -1
        elif waiting:
            closings[waiting.pop()] = match.start()
    return closings


def _without(source: bytes, spans: list[ByteRange]) -> bytes:
    """A source with blanks in some places, which follow each other."""
    position, parts = 0, []
    for span in spans:
        parts += [source[position : span.start], _blank(source[span.start : span.end])]
        position = span.end
    return b"".join([*parts, source[position:]])


def _blank(text: bytes) -> bytes:
    return _BLANK.sub(b" ", text)
