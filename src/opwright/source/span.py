"""Texts that know their lines, and spans: places in them.

Offsets count characters of the decoded text. Line breaks are kept as they stand in the file, so every offset is
exact, and a span can say its bytes in the file too.
"""

from __future__ import annotations

import re
from array import array
from bisect import bisect_right
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["SourceText", "Span"]

# An editor counts lines by these three breaks; the other characters that Python's `splitlines` breaks at do not
# move an editor's line counter, and neither may they move ours.
_LINE_BREAK = re.compile(r"\r\n|\n|\r")


class SourceText:
    """A text with the path that names it in diagnostics, and its lines, which are found when first asked for.

    >>> text = SourceText("ops.yaml", "- func: f()\\n  tags: core\\n")
    >>> text.place(14)
    (2, 3)
    >>> text.line_text(2)
    '  tags: core'
    """

    __slots__ = ("_line_starts", "has_anchors", "path", "prefix_bytes", "text")

    path: str
    text: str
    prefix_bytes: int
    """How many bytes stand in the file before the text: 3 when a byte order mark was dropped, else 0."""
    has_anchors: bool
    """Whether it was read as YAML with anchors: what an entry says need not stand in the entry's own text then."""

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
        """The offset at which each line starts; line n starts at `line_starts[n - 1]`."""
        starts = self._line_starts
        if starts is None:
            # A file may have millions of lines, for which a list of numbers would take gigabytes.
            starts = array("Q", [0])
            starts.extend(match.end() for match in _LINE_BREAK.finditer(self.text))
            self._line_starts = starts
        return starts

    @property
    def line_count(self) -> int:
        """The number of lines; a text that ends with a line break has an empty last line."""
        return len(self.line_starts)

    def place(self, offset: int) -> tuple[int, int]:
        """The line and column of an offset, both counted from 1; an offset outside the text is moved to its edge."""
        starts = self.line_starts
        offset = min(max(offset, 0), len(self.text))
        line = bisect_right(starts, offset)
        return line, offset - starts[line - 1] + 1

    def offset(self, line: int, column: int = 1) -> int:
        """The offset of a line and column, both counted from 1: the reverse of `place`.

        >>> SourceText("x", "ab\\ncd").offset(2, 2)
        4
        """
        return self.line_starts[line - 1] + column - 1

    def line_text(self, line: int) -> str:
        """The text of a line, counted from 1, without its line break; empty for a line that does not exist."""
        starts = self.line_starts
        if not 1 <= line <= len(starts):
            return ""
        end = starts[line] if line < len(starts) else len(self.text)
        return self.text[starts[line - 1] : end].rstrip("\r\n")

    def byte_offset(self, offset: int) -> int:
        """How many bytes of the file stand before the character at this offset, in UTF-8."""
        return self.prefix_bytes + len(self.text[:offset].encode("utf-8", "surrogatepass"))

    def span(self, start: int, end: int | None = None) -> Span:
        """The span from start to end (or of no width, at start), as far as it is inside the text."""
        length = len(self.text)
        start = min(start, length)
        return Span(self, start, start if end is None else max(min(end, length), start))


class Span(NamedTuple):
    """The characters from `start` up to, not including, `end` of a text. A span of no width marks a point.

    >>> span = SourceText("ops.yaml", "tags: coer").span(6, 10)
    >>> str(span), span.text
    ('ops.yaml:1:7', 'coer')
    """

    file: SourceText
    start: int
    end: int

    def __str__(self) -> str:
        line, column = self.file.place(self.start)
        return f"{self.file.path}:{line}:{column}"

    @property
    def line(self) -> int:
        """The line of the first character, from 1."""
        return self.file.place(self.start)[0]

    @property
    def column(self) -> int:
        """The column of the first character, from 1, in characters."""
        return self.file.place(self.start)[1]

    @property
    def byte_start(self) -> int:
        """The first character's offset in the file, in bytes."""
        return self.file.byte_offset(self.start)

    @property
    def byte_end(self) -> int:
        """The offset in the file, in bytes, at which the span ends."""
        return self.file.byte_offset(self.end)

    @property
    def text(self) -> str:
        """The characters as they stand in the file."""
        return self.file.text[self.start : self.end]

    def part(self, start: int, end: int) -> Span:
        """The span of some of its characters, counted from its own start."""
        return Span(self.file, self.start + start, self.start + end)
