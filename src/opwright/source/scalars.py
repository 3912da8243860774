"""Map each character of a YAML scalar's value to the file.

YAML makes a scalar's value from its text: it folds lines, removes indentation and resolves escapes. The parser returns
only the value. This module reads the text again and records the raw characters for each character of the value. That
takes a pass over the scalar, so only scalars with a fault are mapped.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from yaml.scanner import Scanner

_BREAKS: Final = "\r\n\x85\u2028\u2029"
# A node's anchor and tag precede its content, in either order.
_PROPERTIES = re.compile(r"(?:[&!][^\s]*(?:[ \t\r\n\x85\u2028\u2029]|#[^\r\n]*)+)*")
_PROPERTY_ONLY = re.compile(r"[&!]\S*")
_BLOCK_HEADER = re.compile(rf"[|>]([-+0-9]*)[^{_BREAKS}]*")
_LINE_BREAK = re.compile(rf"\r\n|[{_BREAKS}]")
_LINE_REST = re.compile(rf"[^{_BREAKS}]*")
# The spaces before the first character that is neither a space nor a line break.
_FIRST_LETTER_LINE = re.compile(rf"(?: *[{_BREAKS}])*( *)[^ {_BREAKS}]")


class _Reader:
    """Collects the value's characters, each with its raw characters."""

    __slots__ = ("characters", "end", "offset", "spans", "text")

    def __init__(self, text: str, start: int, end: int) -> None:
        self.text = text
        self.offset = start
        self.end = end
        self.characters: list[str] = []
        self.spans: list[tuple[int, int]] = []

    def peek(self) -> str:
        return self.text[self.offset] if self.offset < self.end else ""

    def put(self, characters: str, start: int, end: int) -> None:
        for character in characters:
            self.characters.append(character)
            self.spans.append((start, end))

    def put_raw(self, stop: int) -> None:
        """Take the characters up to `stop` unchanged."""
        for offset in range(self.offset, stop):
            self.characters.append(self.text[offset])
            self.spans.append((offset, offset + 1))
        self.offset = stop

    def take_blanks(self) -> tuple[int, int]:
        start = self.offset
        while self.offset < self.end and self.text[self.offset] in " \t":
            self.offset += 1
        return start, self.offset

    def take_break(self) -> tuple[str, int, int]:
        """Take one line break; YAML reads all but the two Unicode separators as a newline."""
        start = self.offset
        character = self.text[start]
        self.offset += 2 if self.text.startswith("\r\n", start) else 1
        return (character if character in "\u2028\u2029" else "\n"), start, self.offset

    def take_blank_lines(self, indent: int) -> tuple[list[tuple[str, int, int]], bool]:
        """Take a block scalar's blank lines and the next line's indentation; return whether that line belongs to the
        scalar.
        """
        breaks: list[tuple[str, int, int]] = []
        while True:
            line_start = self.offset
            while self.peek() == " " and self.offset - line_start < indent:
                self.offset += 1
            if not self.peek() or self.peek() not in _BREAKS:
                return breaks, bool(self.peek()) and self.offset - line_start == indent
            breaks.append(self.take_break())

    def put_all(self, spans: list[tuple[str, int, int]]) -> None:
        for characters, start, end in spans:
            self.put(characters, start, end)


@lru_cache(maxsize=1)
def raw_offsets(text: str, start: int, end: int, style: str, value: str) -> list[tuple[int, int]] | None:
    """Raw (start, end) of each character of a scalar's value, and of the point after the last one.

    `start` and `end` are the scalar's offsets in the text, including its anchor and tag. Returns None if the text
    does not give that value, which happens only to a scalar that was changed after parsing. The last result is cached,
    because a long scalar may have many faults.

    >>> raw_offsets("'it''s'", 0, 7, "'", "it's")
    [(1, 2), (2, 3), (3, 5), (5, 6), (6, 6)]
    """
    reader = _Reader(text, _content_start(text, start, end), end)
    if style in ("|", ">"):
        _read_block(reader, value, folded=style == ">")
    elif style:
        reader.offset += 1
        _read_flow(reader, style)
    else:
        _read_flow(reader, "")
    if "".join(reader.characters) != value:
        return None
    after = reader.spans[-1][1] if reader.spans and style in ("|", ">") else reader.offset
    return [*reader.spans, (after, after)]


def _content_start(text: str, start: int, end: int) -> int:
    if text[start : start + 1] not in ("&", "!"):
        return start
    match = _PROPERTIES.match(text, start, end)
    content = match.end() if match else start
    only = _PROPERTY_ONLY.match(text, content, end)
    # An empty plain scalar has nothing after its tag and anchor.
    return only.end() if only else content


def _read_flow(reader: _Reader, quote: str) -> None:
    """Read a plain or quoted scalar up to its end or its closing quote."""
    text = reader.text
    while character := reader.peek():
        if character == quote and not (quote == "'" and text.startswith("''", reader.offset)):
            return
        if character == "'" and quote == "'":
            reader.put("'", reader.offset, reader.offset + 2)
            reader.offset += 2
        elif character == "\\" and quote == '"':
            _read_escape(reader)
        elif character in " \t" or character in _BREAKS:
            _read_space(reader)
        else:
            reader.put_raw(reader.offset + 1)


def _read_escape(reader: _Reader) -> None:
    start = reader.offset
    letter = reader.text[start + 1 : start + 2]
    reader.offset = start + 1
    if letter in Scanner.ESCAPE_CODES:
        stop = start + 2 + Scanner.ESCAPE_CODES[letter]
        reader.put(chr(int(reader.text[start + 2 : stop], 16)), start, stop)
        reader.offset = stop
    elif letter and letter in _BREAKS:
        # An escaped line break joins two lines; only the blank lines after it remain.
        reader.take_break()
        _read_blank_lines(reader)
        reader.take_blanks()
    else:
        reader.put(Scanner.ESCAPE_REPLACEMENTS.get(letter, letter), start, start + 2)
        reader.offset = start + 2


def _read_blank_lines(reader: _Reader) -> int:
    count = 0
    while True:
        start, _ = reader.take_blanks()
        if not reader.peek() or reader.peek() not in _BREAKS:
            reader.offset = start
            return count
        reader.put(*reader.take_break())
        count += 1


def _read_space(reader: _Reader) -> None:
    """Read blanks inside a line unchanged; fold a line break with the blanks on both sides."""
    start, stop = reader.take_blanks()
    if not reader.peek() or reader.peek() not in _BREAKS:
        reader.offset = start
        reader.put_raw(stop)
        return
    character, _, break_end = reader.take_break()
    if character != "\n":
        reader.put(character, start, break_end)
    blank_lines = _read_blank_lines(reader)
    _, fold_end = reader.take_blanks()
    if character == "\n" and not blank_lines:
        reader.put(" ", start, fold_end)


def _read_block(reader: _Reader, value: str, *, folded: bool) -> None:
    """Read a literal or folded scalar, which ends at the first line with less indentation."""
    text = reader.text
    reader.end = len(text)
    header = _BLOCK_HEADER.match(text, reader.offset)
    if header is None:
        return
    reader.offset = header.end()
    if reader.peek():
        reader.take_break()
    indent = _block_indent(text, reader.offset, value)
    ending: list[tuple[str, int, int]] = []
    blank_lines, has_content = reader.take_blank_lines(indent)
    was_deeper = False
    while has_content:
        is_deeper = reader.peek() in " \t"
        if folded and ending and ending[0][0] == "\n" and not was_deeper and not is_deeper:
            ending = [] if blank_lines else [(" ", ending[0][1], ending[0][2])]
        reader.put_all(ending)
        reader.put_all(blank_lines)
        reader.put_raw(_line_end(text, reader.offset))
        ending = [reader.take_break()] if reader.peek() else []
        blank_lines, has_content = reader.take_blank_lines(indent)
        was_deeper = is_deeper
    if "-" not in header.group(1):
        reader.put_all(ending)
    if "+" in header.group(1):
        reader.put_all(blank_lines)


def _line_end(text: str, offset: int) -> int:
    match = _LINE_REST.match(text, offset)
    return match.end() if match else offset


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
