"""Bytes that can be cut out of sources: whole statements, so that all other code and all comments stay as they are.

A plan names what it cuts and what it leaves. Before anything is saved, the source that is left is read again, and has
to have all other code of the source in its order.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from opwright.source.records import NamedTuple

BLANKS: Final = b" \t\r\f\v"


class ByteEdit(NamedTuple):
    """Bytes of a source from `start` up to `end`, and what takes their place."""

    start: int
    end: int
    text: bytes = b""


class BytePlaces:
    """Where characters of a text are among its bytes. Places count line breaks of Windows as one character.

    >>> places = BytePlaces("a\\r\\nä = b")
    >>> places.byte(6), places.raw[places.byte(6) :]
    (8, b'b')
    """

    def __init__(self, text: str) -> None:
        self.raw: Final = text.encode()
        self._text = text.replace("\r\n", "\n")
        self._starts = [0]
        for line in self._text.split("\n")[:-1]:
            self._starts.append(self._starts[-1] + len(line) + 1)
        self._raw_starts = [0]
        for raw_line in self.raw.split(b"\n")[:-1]:
            self._raw_starts.append(self._raw_starts[-1] + len(raw_line) + 1)

    def byte(self, at: int) -> int:
        """The byte at which a character begins."""
        line = bisect_right(self._starts, at) - 1
        return self._raw_starts[line] + len(self._text[self._starts[line] : at].encode())

    def line(self, byte: int) -> int:
        """The line of a byte, from 1 on. Lines end where they do for compilers, at line feeds alone."""
        return bisect_right(self._raw_starts, byte)


def applied(raw: bytes, edits: Iterable[ByteEdit]) -> bytes:
    """Bytes after edits, none of which overlap.

    A line of which a cut leaves nothing but blanks goes, unless the line before goes on in it.

    >>> applied(b"a;\\n  cut;\\nb;  cut;\\n", [ByteEdit(5, 9), ByteEdit(14, 18)])
    b'a;\\nb;  \\n'
    """
    parts: list[bytes] = []
    at = 0
    for edit in joined(raw, edits):
        parts += [raw[at : edit.start], edit.text]
        at = edit.end
    return b"".join([*parts, raw[at:]])


def joined(raw: bytes, edits: Iterable[ByteEdit]) -> list[ByteEdit]:
    """Edits in their order, with those that leave nothing of a line as edits of the whole line."""
    rows: list[list[ByteEdit]] = []
    for edit in sorted(edits):
        same_line = rows and not edit.text and b"\n" not in raw[rows[-1][-1].end : edit.start]
        if same_line and not any(row.text for row in rows[-1]):
            rows[-1].append(edit)
        else:
            rows.append([edit])
    return [edit for row in rows for edit in _of_line(raw, row)]


def _of_line(raw: bytes, row: Sequence[ByteEdit]) -> Sequence[ByteEdit]:
    """The edits of a line, or one of the whole line if they leave nothing of it."""
    start = raw.rfind(b"\n", 0, row[0].start) + 1
    end = raw.find(b"\n", row[-1].end)
    end = len(raw) if end < 0 else end + 1
    bounds = [start, *[bound for edit in row for bound in (edit.start, edit.end)], end]
    line_rest = b"".join([raw[first:last] for first, last in zip(bounds[::2], bounds[1::2], strict=True)])
    goes_on = raw[:start].rstrip(b"\r\n")[-1:] == b"\\" and start > 0
    if any(edit.text for edit in row) or line_rest.strip(BLANKS + b"\n") or goes_on:
        return row
    return [ByteEdit(start, end)]


def without_comments(start: int, end: int, comments: Iterable[tuple[int, int]]) -> Iterator[ByteEdit]:
    """Cuts from a byte to another one that leave the comments between them."""
    at = start
    for first, last in sorted(comments):
        if at <= first and last <= end:
            if at < first:
                yield ByteEdit(at, first)
            at = last
    if at < end:
        yield ByteEdit(at, end)
