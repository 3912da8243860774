"""Texts with line numbers, and spans, which are ranges of them.

Offsets count characters of the decoded text. Line breaks stay unchanged, so every offset is exact, and a span also has
its bytes in the file.
"""

from __future__ import annotations

import re
from array import array
from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate

from opwright.source.records import NamedTuple, not_fingerprinted

# An editor counts lines by these three breaks; the other characters that Python's `splitlines` breaks at do not
# move an editor's line counter, and neither may they move ours.
_LINE_BREAK = re.compile(r"\r\n|\n|\r")


_PLACE = "where something stands in a file is in no output"

without_place = not_fingerprinted(file=_PLACE, start=_PLACE, end=_PLACE)
"""Declares that no fingerprint covers the place of a record in a file."""


class SourceText:
    """A text with the path that names it in diagnostics. Its lines are found on first use.

    >>> text = SourceText("ops.yaml", "- func: f()\\n  tags: core\\n")
    >>> text.line_and_column(14)
    (2, 3)
    >>> text.line_text(2)
    '  tags: core'
    """

    __slots__ = ("_line_starts", "has_anchors", "path", "prefix_bytes", "text")

    path: str
    text: str
    prefix_bytes: int
    """The number of bytes in the file before the text: 3 if there was a byte order mark, else 0."""
    has_anchors: bool
    """Whether the text is YAML with anchors. An entry may then depend on text outside of its own."""

    def __init__(self, path: str, text: str, *, prefix_bytes: int = 0) -> None:
        self.path = path
        self.text = text
        self.prefix_bytes = prefix_bytes
        self.has_anchors = False
        self._line_starts: Sequence[int] | None = None

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.path!r}, {len(self.text)} characters)"

    @property
    def line_starts(self) -> Sequence[int]:
        """Offset at which each line starts; line n starts at `line_starts[n - 1]`."""
        starts = self._line_starts
        if starts is None:
            # A file may have millions of lines; a list of Python numbers would take gigabytes.
            starts = array("Q", [0])
            if "\r" in self.text:
                starts.extend(match.end() for match in _LINE_BREAK.finditer(self.text))
            else:
                lengths = map(len, self.text.split("\n")[:-1])
                starts.extend(accumulate(map((1).__add__, lengths)))
            self._line_starts = starts
        return starts

    @property
    def line_count(self) -> int:
        """Number of lines; a text that ends with a line break has an empty last line."""
        return len(self.line_starts)

    def line_and_column(self, offset: int) -> tuple[int, int]:
        """Line and column of an offset, both from 1. Offsets outside the text count as its nearest edge."""
        starts = self.line_starts
        offset = min(max(offset, 0), len(self.text))
        line = bisect_right(starts, offset)
        return line, offset - starts[line - 1] + 1

    def offset(self, line: int, column: int = 1) -> int:
        """Offset of a line and column, both counted from 1: the reverse of `line_and_column`.

        >>> SourceText("x", "ab\\ncd").offset(2, 2)
        4
        """
        return self.line_starts[line - 1] + column - 1

    def line_text(self, line: int) -> str:
        """Text of a line, counted from 1, without its line break; empty for a line that does not exist."""
        starts = self.line_starts
        if not 1 <= line <= len(starts):
            return ""
        end = starts[line] if line < len(starts) else len(self.text)
        return self.text[starts[line - 1] : end].rstrip("\r\n")

    def byte_offset(self, offset: int) -> int:
        """Number of bytes (UTF-8) in the file before the character at this offset."""
        return self.prefix_bytes + len(self.text[:offset].encode("utf-8", "surrogatepass"))

    def span(self, start: int, end: int | None = None) -> Span:
        """Span from `start` to `end`, clipped to the text; without `end`, the point at `start`."""
        length = len(self.text)
        start = min(start, length)
        return Span(self, start, start if end is None else max(min(end, length), start))


@without_place
class Span(NamedTuple):
    """Characters from `start` up to, not including, `end` of a text. A span of no width marks a point.

    >>> span = SourceText("ops.yaml", "tags: coer").span(6, 10)
    >>> str(span), span.text
    ('ops.yaml:1:7', 'coer')
    """

    file: SourceText
    start: int
    end: int

    def __str__(self) -> str:
        line, column = self.file.line_and_column(self.start)
        return f"{self.file.path}:{line}:{column}"

    @property
    def line(self) -> int:
        """Line of the first character, from 1."""
        return self.file.line_and_column(self.start)[0]

    @property
    def column(self) -> int:
        """Column of the first character, from 1, in characters."""
        return self.file.line_and_column(self.start)[1]

    @property
    def byte_start(self) -> int:
        """The first character's offset in the file, in bytes."""
        return self.file.byte_offset(self.start)

    @property
    def byte_end(self) -> int:
        """Offset in the file, in bytes, at which the span ends."""
        return self.file.byte_offset(self.end)

    @property
    def text(self) -> str:
        """Characters in the file."""
        return self.file.text[self.start : self.end]

    @property
    def first_line(self) -> Span:
        """Part of the span in its first line."""
        return self.part(0, len(self.text.partition("\n")[0]))

    def part(self, start: int, end: int) -> Span:
        """A part of the span, with offsets from its start."""
        return Span(self.file, self.start + start, self.start + end)
