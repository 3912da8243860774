"""Reports as commands of GitHub workflows, which show diagnostics beside the lines of a pull request."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Final

from opwright.source.diagnostic import Diagnostic, Severity
from opwright.source.snippet import printable

__all__ = ["render_github"]

_COMMANDS: Final = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "notice"}
_IN_DATA: Final = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A"})
_IN_PROPERTIES: Final = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A", ":": "%3A", ",": "%2C"})


def render_github(diagnostics: Sequence[Diagnostic]) -> str:
    """One command for each diagnostic, with its place, code, message, notes and help.

    >>> from opwright.source.diagnostic import Diagnostics
    >>> from opwright.source.span import SourceText
    >>> sink = Diagnostics()
    >>> sink.error("E0312", "100% wrong", SourceText("ops.yaml", "a: b").span(3, 4), help="delete it")
    >>> print(render_github(sink.sorted()), end="")
    ::error file=ops.yaml,line=1,endLine=1,col=4,endColumn=5,title=E0312::100%25 wrong%0Ahelp: delete it
    """
    return "".join([_command(diagnostic) for diagnostic in diagnostics])


def _command(diagnostic: Diagnostic) -> str:
    properties: dict[str, object] = {}
    span = diagnostic.span
    if span is not None:
        line, column = span.file.line_and_column(span.start)
        end_line, end_column = span.file.line_and_column(max(span.start, span.end))
        path = span.file.path
        shown = os.path.relpath(path) if os.path.isabs(path) and path.startswith(os.getcwd() + os.sep) else path
        properties = {"file": shown.replace(os.sep, "/"), "line": line, "endLine": end_line}
        if line == end_line:
            # GitHub takes columns only where a place is on one line.
            properties |= {"col": column, "endColumn": max(end_column, column + 1)}
    properties["title"] = diagnostic.code
    shown_properties = ",".join([f"{name}={_property_text(value)}" for name, value in properties.items()])
    lines = [diagnostic.message, *[f"note: {note}" for note in diagnostic.notes]]
    if diagnostic.help:
        lines.append(f"help: {diagnostic.help}")
    text = "\n".join([printable(line) for text in lines for line in text.splitlines()])
    return f"::{_COMMANDS[diagnostic.severity]} {shown_properties}::{text.translate(_IN_DATA)}\n"


def _property_text(value: object) -> str:
    return str(value).translate(_IN_PROPERTIES)
