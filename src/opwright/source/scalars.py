"""Map each character of a YAML scalar's value to the file.

YAML makes a scalar's value from its text: it folds lines, removes indentation and resolves escapes. The parser returns
only the value. This module reads the text again and records the raw characters for each character of the value. That
takes a pass over the scalar, so only scalars with a fault are mapped.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final, TypeAlias

from yaml.scanner import Scanner

_BREAKS: Final = "\r\n\x85\u2028\u2029"
_BREAK: Final = rf"(?:\r\n|[{_BREAKS}])"
_LINE_BREAK: Final = re.compile(_BREAK)
# A node's anchor and tag precede its content, in either order.
_PROPERTIES: Final = re.compile(rf"(?:[&!][^\s]*(?:[ \t{_BREAKS}]|#[^\r\n]*)+)*")
_PROPERTY_ONLY: Final = re.compile(r"[&!]\S*")
_BLOCK_HEADER: Final = re.compile(rf"[|>]([-+0-9]*)[^{_BREAKS}]*{_BREAK}?")
_LINE_REST: Final = re.compile(rf"[^{_BREAKS}]*")
# The spaces before the first character that is neither a space nor a line break.
_FIRST_LETTER_LINE: Final = re.compile(rf"(?: *[{_BREAKS}])*( *)[^ {_BREAKS}]")
# A line break that is folded, or escaped, with the blank lines that follow and the blanks on both sides.
_FOLD: Final = re.compile(rf"[ \t]*({_BREAK})((?:[ \t]*{_BREAK})*)[ \t]*")
_ESCAPED_BREAK: Final = re.compile(rf"\\{_BREAK}((?:[ \t]*{_BREAK})*)[ \t]*")

_Piece: TypeAlias = "tuple[str, int, int]"
"""A character of the value, and where its raw characters are."""


@lru_cache(maxsize=1)
def raw_offsets(text: str, start: int, end: int, style: str, value: str) -> list[tuple[int, int]] | None:
    """Raw (start, end) of each character of a scalar's value, and of the point after the last one.

    `start` and `end` are the scalar's offsets in the text, including its anchor and tag. Returns None if the text
    does not give that value, which happens only to a scalar that was changed after parsing. The last result is cached,
    because a long scalar may have many faults.

    >>> raw_offsets("'it''s'", 0, 7, "'", "it's")
    [(1, 2), (2, 3), (3, 5), (5, 6), (6, 6)]
    """
    content = _content_start(text, start, end)
    if style in ("|", ">"):
        pieces, after = _block_pieces(text, content, value, folded=style == ">")
    else:
        pieces, after = _flow_pieces(text, content + len(style), end, style)
    if "".join([character for character, _, _ in pieces]) != value:
        return None
    return [*[(first, last) for _, first, last in pieces], (after, after)]


def _content_start(text: str, start: int, end: int) -> int:
    if text[start : start + 1] not in ("&", "!"):
        return start
    match = _PROPERTIES.match(text, start, end)
    content = match.end() if match else start
    only = _PROPERTY_ONLY.match(text, content, end)
    # An empty plain scalar has nothing after its tag and anchor.
    return only.end() if only else content


def _raw(text: str, start: int, end: int) -> list[_Piece]:
    """Characters that stand for themselves."""
    return [(text[at], at, at + 1) for at in range(start, end)]


def _breaks(text: str, start: int, end: int) -> list[_Piece]:
    """Line breaks; YAML reads all but the two Unicode separators as a newline."""
    return [
        (match[0] if match[0] in "\u2028\u2029" else "\n", *match.span())
        for match in _LINE_BREAK.finditer(text, start, end)
    ]


def _flow_pieces(text: str, start: int, end: int, quote: str) -> tuple[list[_Piece], int]:
    """Characters of a plain or quoted scalar up to its end or its closing quote, and where that is."""
    pieces: list[_Piece] = []
    at = start
    while at < end:
        if quote == "'" and text.startswith("''", at):
            new, after = [("'", at, at + 2)], at + 2
        elif text[at] == quote:
            break
        elif text[at] == "\\" and quote == '"':
            new, after = _escape(text, at, end)
        elif fold := _FOLD.match(text, at, end):
            new, after = _breaks(text, fold.start(1), fold.end()), fold.end()
            if new[0][0] == "\n":
                # A line break is a blank, but blank lines after it remain.
                new = new[1:] or [(" ", at, after)]
            else:
                new[0] = new[0][0], at, fold.end(1)
        else:
            new, after = _raw(text, at, at + 1), at + 1
        pieces += new
        at = after
    return pieces, at


def _escape(text: str, start: int, end: int) -> tuple[list[_Piece], int]:
    """What an escape stands for, and where it ends."""
    letter = text[start + 1 : start + 2]
    joined = _ESCAPED_BREAK.match(text, start, end)
    if joined is not None:
        # Of two joined lines, only the blank lines between them remain.
        return _breaks(text, *joined.span(1)), joined.end()
    if letter in Scanner.ESCAPE_CODES:
        after = start + 2 + Scanner.ESCAPE_CODES[letter]
        return [(chr(int(text[start + 2 : after], 16)), start, after)], after
    return [(Scanner.ESCAPE_REPLACEMENTS.get(letter, letter), start, start + 2)], start + 2


def _block_pieces(text: str, start: int, value: str, *, folded: bool) -> tuple[list[_Piece], int]:
    """Characters of a literal or folded scalar, and where the last one ends.

    It ends at the first line with less indentation.
    """
    header = _BLOCK_HEADER.match(text, start)
    if header is None:
        return [], start
    indent = _block_indent(text, header.end(), value)
    before_line = re.compile(rf"((?: {{0,{indent}}}{_BREAK})*) {{{indent}}}(?=[^{_BREAKS}])")
    blank_lines = re.compile(rf"((?: {{0,{indent}}}{_BREAK})*) {{0,{indent}}}")
    pieces: list[_Piece] = []
    ending: list[_Piece] = []
    at = header.end()
    was_deeper = False
    while line := before_line.match(text, at):
        blanks = _breaks(text, *line.span(1))
        is_deeper = text[line.end()] in " \t"
        if folded and ending and ending[0][0] == "\n" and not was_deeper and not is_deeper:
            ending = [] if blanks else [(" ", *ending[0][1:])]
        rest = _LINE_REST.match(text, line.end())
        content_end = len(text) if rest is None else rest.end()
        pieces += [*ending, *blanks, *_raw(text, line.end(), content_end)]
        line_break = _LINE_BREAK.match(text, content_end)
        at = content_end if line_break is None else line_break.end()
        ending = _breaks(text, content_end, at)
        was_deeper = is_deeper
    if "-" not in header[1]:
        pieces += ending
    blanks_after = blank_lines.match(text, at)
    if "+" in header[1] and blanks_after is not None:
        pieces += _breaks(text, *blanks_after.span(1))
    after = at if blanks_after is None else blanks_after.end()
    return pieces, pieces[-1][2] if pieces else after


def _block_indent(text: str, start: int, value: str) -> int:
    """Indentation of the lines of a block scalar in columns, from the start of its first line.

    The header may give an indentation, but relative to the parent. The value has the lines without it, so the first
    line with a letter has that many more spaces in the file than in the value.
    """
    of_value, of_file = _FIRST_LETTER_LINE.match(value), _FIRST_LETTER_LINE.match(text, start)
    if of_value is not None and of_file is not None:
        return len(of_file.group(1)) - len(of_value.group(1))
    # There are spaces at most. Each line of the value is then a line of the file.
    for raw_line, line in zip(_LINE_BREAK.split(text[start:]), _LINE_BREAK.split(value), strict=False):
        if line:
            return len(raw_line) - len(line)
    return len(text)
