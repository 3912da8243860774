"""Exceptions of plug-ins as diagnostics with a place in the plug-in's file."""

from __future__ import annotations

import os
from collections.abc import Collection
from types import TracebackType

from opwright.source.diagnostic import Fault
from opwright.source.span import Span
from opwright.source.text import SourceFile

__all__ = ["describe_error", "line_span", "place_of_error", "shown_path"]


def describe_error(error: BaseException) -> str:
    """The type of an exception, and the first line of its text if it has one.

    >>> describe_error(KeyError("CPU"))
    "KeyError: 'CPU'"
    """
    text = (error.msg if isinstance(error, SyntaxError) else str(error)).strip().partition("\n")[0]
    name = type(error).__name__
    return f"{name}: {text}" if text else name


def place_of_error(error: BaseException, files: Collection[str]) -> Span | None:
    """The last place in one of the files that an exception passed; None if it passed none of them."""
    if isinstance(error, SyntaxError) and error.filename and os.path.abspath(error.filename) in files:
        return line_span(error.filename, error.lineno or 1)
    place: tuple[str, int] | None = None
    trace: TracebackType | None = error.__traceback__
    while trace is not None:
        path = os.path.abspath(trace.tb_frame.f_code.co_filename)
        if path in files:
            place = path, trace.tb_lineno
        trace = trace.tb_next
    return None if place is None else line_span(*place)


def line_span(path: str, line: int) -> Span | None:
    """The text of a line of a file, without the blanks around it; None if the file cannot be read."""
    try:
        file = SourceFile.read(shown_path(path))
    except Fault:
        return None
    number = min(max(line, 1), file.line_count)
    start = file.line_starts[number - 1]
    text = file.line_text(number)
    return file.span(start + len(text) - len(text.lstrip()), start + len(text.rstrip()))


def shown_path(path: str) -> str:
    """The path of a file as messages show it: relative to the working folder if it is below."""
    absolute, here = os.path.abspath(path), os.getcwd()
    return os.path.relpath(absolute) if absolute.startswith(here + os.sep) else absolute
