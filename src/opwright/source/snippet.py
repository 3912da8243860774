"""Draw the source lines of a diagnostic with its labels below them.

A drawing consists of rows of pieces, each a style and a text; the renderer decides how a style looks. Columns are
terminal columns: a tab takes four, a Chinese character two, a combining accent none.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from itertools import groupby
from operator import itemgetter
from typing import Final, NamedTuple

from opwright.source.diagnostic import Label
from opwright.source.span import SourceText

PRIMARY: Final = "primary"
SECONDARY: Final = "secondary"

_TAB_WIDTH: Final = 4
_MORE: Final = "..."
_CONTEXT: Final = 20
# Messages quote text from files, which may be long.
_LONGEST_TEXT: Final = 1_000
# Only the part around the first label of a longer line is laid out.
_LONGEST_LINE: Final = 4_000
_BEFORE_LABEL: Final = 1_000
# Gaps of one line are shown, longer ones are skipped.
_LARGEST_SHOWN_GAP: Final = 2
_WIDTHLESS: Final = frozenset(["Mn", "Me", "Cf"])
_BIDIRECTIONAL: Final = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


class Row(NamedTuple):
    """A row: a line number, "" below a line or `...` for skipped lines, and its pieces as (style, text)."""

    number: str
    pieces: list[tuple[str, str]]


class _Mark(NamedTuple):
    """A label on one line, with the terminal columns from `start` to `end`, exclusive."""

    start: int
    end: int
    label: Label


class _Range(NamedTuple):
    """A label over several lines, with the lane to the left of the text for its bar."""

    first_line: int
    first_column: int
    last_line: int
    last_column: int
    lane: int
    label: Label


class _Canvas:
    """One row under construction: a style and a character by column."""

    __slots__ = ("_cells",)

    def __init__(self) -> None:
        self._cells: list[tuple[str, str]] = []

    def write(self, column: int, text: str, style: str) -> None:
        end = column + len(text)
        self._cells += [("", " ")] * (end - len(self._cells))
        self._cells[column:end] = [(style, character) for character in text]

    def pieces(self) -> list[tuple[str, str]]:
        groups = groupby(self._cells, key=itemgetter(0))
        return [(style, "".join([character for _, character in cells])) for style, cells in groups]


class _Line:
    """A line of the file as a terminal shows it; a line that is too long is cut to the part with its marks."""

    __slots__ = ("_columns", "_hidden", "_shift", "_skipped", "_width", "cells", "text")

    def __init__(self, text: str, marked_column: int) -> None:
        """`marked_column` is the column of the first label; of a very long line, only the part near it is laid out."""
        self._skipped = max(marked_column - _BEFORE_LABEL, 0) if len(text) > _LONGEST_LINE else 0
        text = text[self._skipped : self._skipped + _LONGEST_LINE]
        # One string per terminal column; the second column of a wide character is an empty one.
        self.cells: list[str] = []
        self._columns: list[int] = []
        for character in text:
            if self.cells and unicodedata.category(character) in _WIDTHLESS and character not in _BIDIRECTIONAL:
                self._columns.append(len(self.cells) - 1)
                self.cells[-1] += character
            else:
                self._columns.append(len(self.cells))
                self.cells.extend(_cells(character, len(self.cells)))
        self._columns.append(len(self.cells))
        self.text = "".join(self.cells)
        self._width = len(self.cells)
        self._hidden = 0
        self._shift = 0

    def raw_column(self, column: int) -> int:
        """Terminal column of a column of the file, both from 0, before cutting."""
        return self._columns[min(max(column - self._skipped, 0), len(self._columns) - 1)]

    def cut(self, marked: list[tuple[int, int]], width: int) -> None:
        """Cut the line to `width` columns; of the marked columns, earlier ones are more important."""
        count = len(self.cells)
        if count <= width:
            return
        first, last = marked[0] if marked else (0, 0)
        for start, end in marked[1:]:
            if max(end, last) - min(start, first) <= width - 2 * _CONTEXT:
                first, last = min(start, first), max(end, last)
        left = 0 if last <= width - _CONTEXT else max(0, min(first - _CONTEXT, count - width))
        right = min(count, left + width)
        # If the cut splits a wide character, a blank keeps the following columns in position.
        shown = (self.cells[left] or " ") + "".join(self.cells[left + 1 : right])
        self._hidden = left
        self._shift = len(_MORE) if left else 0
        self._width = self._shift + right - left
        self.text = f"{_MORE if left else ''}{shown}{_MORE if right < count else ''}"

    def column(self, raw: int) -> int:
        """Column, after cutting, of a terminal column of the whole line, or the nearest edge."""
        if raw < self._hidden:
            return 0
        return min(raw - self._hidden + self._shift, self._width)


def printable(text: str) -> str:
    """Text without characters that control a terminal: escapes, other controls, changes of direction.

    >>> printable("red \\x1b[31m")
    'red ␛[31m'
    """
    return text if text.isprintable() else "".join(_visible_form(character) for character in text)


def readable(text: str) -> str:
    """Text as a printable line of a report, cut to a readable length."""
    return printable(text if len(text) <= _LONGEST_TEXT else f"{text[:_LONGEST_TEXT]}{_MORE}")


class Snippet:
    """Labels of one file: those on one line, and those over several lines."""

    __slots__ = ("file", "lines", "marks", "ranges")

    def __init__(self, file: SourceText, labels: Sequence[Label]) -> None:
        self.file = file
        self.lines: dict[int, _Line] = {}
        self.marks: dict[int, list[_Mark]] = {}
        self.ranges: list[_Range] = []
        for label in labels:
            self._place(label)

    def rows(self, width: int) -> list[Row]:
        """Rows for all labels, cut to a width in columns."""
        rows = []
        previous = 0
        for number in self._shown_lines():
            if previous and number > previous:
                rows.append(Row(_MORE, self._bars(number).pieces()))
            rows.extend(self._line_rows(number, width))
            previous = number + 1
        return rows

    def _line(self, number: int, column: int = 0) -> _Line:
        """Line with a number; the first request for it gives the column of a label, if there is one."""
        line = self.lines.get(number)
        if line is None:
            line = self.lines[number] = _Line(self.file.line_text(number), column)
        return line

    def _place(self, label: Label) -> None:
        start, end = label.span.start, label.span.end
        covered = self.file.text[start:end]
        # Show a line break at the end of a span at the end of its line, not at the start of the next one.
        end = start + len(covered.rstrip("\r\n"))
        first_line, first_column = self.file.line_and_column(start)
        last_line, last_column = self.file.line_and_column(max(start, end - 1))
        first = self._line(first_line, first_column - 1).raw_column(first_column - 1)
        if first_line == last_line:
            after = self._line(last_line).raw_column(last_column) if end > start else first + 1
            self.marks.setdefault(first_line, []).append(_Mark(first, max(after, first + 1), label))
            return
        last = self._line(last_line, last_column - 1).raw_column(last_column - 1)
        self.ranges.append(_Range(first_line, first, last_line, last, len(self.ranges), label))

    def _shown_lines(self) -> list[int]:
        wanted = set(self.marks)
        for part in self.ranges:
            wanted.update((part.first_line, part.first_line + 1, part.last_line - 1, part.last_line))
        shown: list[int] = []
        for number in sorted(wanted):
            if shown and number - shown[-1] <= _LARGEST_SHOWN_GAP:
                shown.extend(range(shown[-1] + 1, number))
            shown.append(number)
        return shown

    def _bars(self, number: int) -> _Canvas:
        """A row with the bars of the ranges that start before a line and reach it."""
        canvas = _Canvas()
        for part in self.ranges:
            if part.first_line < number <= part.last_line:
                canvas.write(2 * part.lane, "|", _style(part.label))
        return canvas

    def _line_rows(self, number: int, width: int) -> list[Row]:
        line = self._line(number)
        marks = self.marks.get(number, [])
        # The corners of ranges: those that start here, then those that end here, which have the texts of their labels.
        corners = [(part, part.first_column, "") for part in self.ranges if part.first_line == number]
        corners += [(part, part.last_column, part.label.text) for part in self.ranges if part.last_line == number]
        marked = [(mark.start, mark.end, mark.label) for mark in marks]
        marked += [(column, column + 1, part.label) for part, column, _ in corners]
        marked.sort(key=lambda mark: not mark[2].primary)
        line.cut([mark[:2] for mark in marked], width)
        margin = 2 * len(self.ranges)
        source = self._bars(number)
        source.write(margin, line.text, "")
        canvases = [source, *self._mark_rows(number, line, marks, margin)]
        for part, raw_column, text in corners:
            canvas = self._bars(number)
            style = _style(part.label)
            start, column = 2 * part.lane + 1, margin + line.column(raw_column)
            canvas.write(start, "_" * (column - start), style)
            canvas.write(column, _sign(part.label), style)
            canvas.write(column + 2, readable(text), style)
            canvases.append(canvas)
        return [Row("" if index else str(number), canvas.pieces()) for index, canvas in enumerate(canvases)]

    def _mark_rows(self, number: int, line: _Line, marks: list[_Mark], margin: int) -> list[_Canvas]:
        """Underlines of a line's marks with their labels: the rightmost next to its mark, the others below."""
        if not marks:
            return []
        placed = [_Mark(margin + line.column(mark.start), margin + line.column(mark.end), mark.label) for mark in marks]
        placed = [mark._replace(end=max(mark.end, mark.start + 1)) for mark in placed]
        underlines = self._bars(number)
        for mark in sorted(placed, key=lambda mark: mark.label.primary):
            underlines.write(mark.start, _sign(mark.label) * (mark.end - mark.start), _style(mark.label))
        rows = [underlines]
        waiting = sorted((mark for mark in placed if mark.label.text), key=lambda mark: (mark.start, mark.end))
        if waiting and waiting[-1].end == max(mark.end for mark in placed):
            beside = waiting.pop()
            underlines.write(beside.end + 1, readable(beside.label.text), _style(beside.label))
        if waiting:
            rows.append(self._connectors(number, waiting))
        while waiting:
            below = waiting.pop()
            canvas = self._connectors(number, waiting)
            canvas.write(below.start, readable(below.label.text), _style(below.label))
            rows.append(canvas)
        return rows

    def _connectors(self, number: int, waiting: list[_Mark]) -> _Canvas:
        canvas = self._bars(number)
        for mark in waiting:
            canvas.write(mark.start, "|", _style(mark.label))
        return canvas


def _style(label: Label) -> str:
    return PRIMARY if label.primary else SECONDARY


def _sign(label: Label) -> str:
    return "^" if label.primary else "-"


def _visible_form(character: str) -> str:
    if character < " ":
        return chr(0x2400 + ord(character))
    if character == "\x7f":
        return "\u2421"
    category = unicodedata.category(character)
    if character in _BIDIRECTIONAL or category in ("Cc", "Cs", "Zl", "Zp"):
        return "\ufffd"
    return character


def _cells(character: str, column: int) -> list[str]:
    """What a character that starts at a column looks like, a string for each column that it takes."""
    if " " <= character <= "~":
        return [character]
    if character == "\t":
        return [" "] * (_TAB_WIDTH - column % _TAB_WIDTH)
    shown = _visible_form(character)
    return [shown, ""] if unicodedata.east_asian_width(shown) in ("W", "F") else [shown]
