"""Render diagnostics: for a terminal, with source lines, or as one line each."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from opwright.source import limits
from opwright.source.diagnostic import Diagnostic, Label, Severity
from opwright.source.snippet import PRIMARY, SECONDARY, Row, Snippet, printable, readable
from opwright.source.span import SourceText

_RESET: Final = "\x1b[0m"
_BOLD: Final = "\x1b[1m"
_BLUE: Final = "\x1b[1;34m"
_SEVERITY_COLORS: Final = {
    Severity.ERROR: "\x1b[1;31m",
    Severity.WARNING: "\x1b[1;33m",
    Severity.NOTE: "\x1b[1;32m",
}
_WIDTH: Final = 140


def render_short(diagnostics: Iterable[Diagnostic]) -> str:
    """One line for each diagnostic: `path:line:column: error[E0312]: message; help`.

    >>> from opwright.source.diagnostic import Diagnostics
    >>> sink = Diagnostics()
    >>> text = SourceText("ops.yaml", "dispatch:\\n  CPUU: kernel\\n")
    >>> sink.error("E0312", "unknown dispatch key `CPUU`", text.span(12, 16), help="did you mean `CPU`?")
    >>> print(render_short(sink), end="")
    ops.yaml:2:3: error[E0312]: unknown dispatch key `CPUU`; did you mean `CPU`?
    """
    return "".join(f"{_short_line(diagnostic)}\n" for diagnostic in diagnostics)


def _short_line(diagnostic: Diagnostic) -> str:
    span = diagnostic.span
    where = "" if span is None else f"{span}: "
    hint = f"; {diagnostic.help}" if diagnostic.help else ""
    text = f"{where}{diagnostic.severity.value}[{diagnostic.code}]: {diagnostic.message}{hint}"
    return readable(" ".join(text.splitlines()))


def render_terminal(diagnostics: Iterable[Diagnostic], *, color: bool, width: int = _WIDTH) -> str:
    """Each diagnostic with its source lines, the labels below them, its notes and its help.

    Lines longer than `width` columns are cut around their labels. Without `color`, the text has no escapes.

    >>> from opwright.source.diagnostic import Diagnostics
    >>> sink = Diagnostics()
    >>> text = SourceText("ops.yaml", "dispatch:\\n  CPUU: kernel\\n")
    >>> sink.error("E0312", "unknown dispatch key `CPUU`", text.span(12, 16), help="did you mean `CPU`?")
    >>> print(render_terminal(sink, color=False), end="")
    error[E0312]: unknown dispatch key `CPUU`
     --> ops.yaml:2:3
      |
    2 |   CPUU: kernel
      |   ^^^^
      = help: did you mean `CPU`?
    """
    return "\n".join(_Painter(diagnostic, color).text(width) for diagnostic in diagnostics)


def render_report(diagnostics: Sequence[Diagnostic], *, color: bool) -> str:
    """All diagnostics of a run in the same form: of more than 100 the first ones, and the number of the others.

    Errors are shown before warnings and notes are.
    """
    hidden = len(diagnostics) - limits.SHOWN
    if hidden <= 0:
        return render_terminal(diagnostics, color=color)
    others = [diagnostic.severity is not Severity.ERROR for diagnostic in diagnostics]
    shown = sorted(sorted(range(len(others)), key=others.__getitem__)[: limits.SHOWN])
    stopped = f"; stopped after {limits.ERRORS:,} errors" if others.count(False) >= limits.ERRORS else ""
    text = render_terminal([diagnostics[index] for index in shown], color=color)
    return f"{text}\nand {hidden:,} more{stopped}\n"


class _Painter:
    """Renders one diagnostic; all of its snippets share the width of the line numbers."""

    __slots__ = ("color", "diagnostic", "margin")

    def __init__(self, diagnostic: Diagnostic, color: bool) -> None:
        self.diagnostic = diagnostic
        self.color = color
        self.margin = 1

    def text(self, width: int) -> str:
        groups = _by_file(self.diagnostic)
        snippets = [(labels, Snippet(file, labels).rows(width)) for file, labels in groups]
        self.margin = max((len(row.number) for _, rows in snippets for row in rows if row.number.isdigit()), default=1)
        lines = self._header()
        arrow = "-->"
        for labels, rows in snippets:
            span = next((label.span for label in labels if label.primary), labels[0].span)
            lines.append(f"{' ' * self.margin}{self._paint(arrow, _BLUE)} {printable(str(span))}")
            lines.append(self._gutter(""))
            lines.extend(self._row(row) for row in rows)
            arrow = ":::"
        lines.extend(self._remarks())
        return "".join(f"{line.rstrip()}\n" for line in lines)

    def _paint(self, text: str, style: str) -> str:
        return f"{style}{text}{_RESET}" if self.color and style and text else text

    def _header(self) -> list[str]:
        severity = self.diagnostic.severity
        first, *more = self.diagnostic.message.splitlines() or [""]
        name = self._paint(f"{severity.value}[{self.diagnostic.code}]", _SEVERITY_COLORS[severity])
        lines = [name + self._paint(f": {readable(first)}", _BOLD)]
        lines.extend(self._paint(f"  {readable(line)}", _BOLD) for line in more)
        return lines

    def _gutter(self, number: str) -> str:
        if number and not number.isdigit():
            # The dots for skipped lines replace a number and its bar.
            return self._paint(number.ljust(self.margin + 2), _BLUE)
        return self._paint(f"{number:>{self.margin}} |", _BLUE)

    def _row(self, row: Row) -> str:
        styles = {PRIMARY: _SEVERITY_COLORS[self.diagnostic.severity], SECONDARY: _BLUE, "": ""}
        drawn = "".join(self._paint(text, styles[style]) for style, text in row.pieces)
        return f"{self._gutter(row.number)} {drawn}"

    def _remarks(self) -> list[str]:
        remarks = [("note", note) for note in self.diagnostic.notes]
        if self.diagnostic.help:
            remarks.append(("help", str(self.diagnostic.help)))
        lines = []
        for word, text in remarks:
            first, *more = text.splitlines() or [""]
            start = f"{' ' * self.margin} {self._paint('=', _BLUE)} {self._paint(word, _BOLD)}: "
            lines.append(start + readable(first))
            lines.extend(" " * (self.margin + len(" = help: ")) + readable(line) for line in more)
        return lines


def _by_file(diagnostic: Diagnostic) -> list[tuple[SourceText, list[Label]]]:
    """Labels by file, beginning with the file of the diagnostic's span."""
    span = diagnostic.span
    groups: dict[str, tuple[SourceText, list[Label]]] = {}
    if span is not None:
        groups[span.file.path] = (span.file, [])
    for label in diagnostic.labels:
        groups.setdefault(label.span.file.path, (label.span.file, []))[1].append(label)
    return list(groups.values())
