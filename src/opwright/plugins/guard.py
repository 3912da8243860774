"""Calls of functions of plug-ins: exceptions and wrong results become diagnostics with a place in their file."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Sequence
from types import TracebackType
from typing import TypeVar

from opwright.model.catalog import PartialCatalog
from opwright.model.native_function import NativeFunction
from opwright.plugins.plugin import Plugin
from opwright.plugins.sources import sources_of
from opwright.source.codes import RAISED, WRONG_RESULT
from opwright.source.diagnostic import Fault, FaultsFound
from opwright.source.record_fields import not_fingerprinted
from opwright.source.span import Span
from opwright.source.text import SourceFile


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


_Result = TypeVar("_Result")


@not_fingerprinted(
    _plugin="messages name it, and the fragments of its emitters have its sources in their context",
    _files="messages name them",
)
class CallGuard:
    """Makes safe functions of those of a plug-in.

    A safe function raises Fault in place of any other exception, with the place in the plug-in, and if its check tells
    what is wrong with its result.
    """

    __slots__ = ("_files", "_plugin")

    def __init__(self, plugin: Plugin) -> None:
        self._plugin = plugin
        self._files: Collection[str] | None = None

    @property
    def files(self) -> Collection[str]:
        """The files of the plug-in."""
        if self._files is None:
            self._files = sources_of(self._plugin).files
        return self._files

    def function(
        self,
        point: str,
        function: Callable[..., _Result],
        check: Callable[[_Result], str] = lambda _: "",
        origin: object = None,
    ) -> Callable[..., _Result]:
        """A safe function. `point` says what the function is for, `check` what is wrong with a result, if anything.

        `origin` is the function of the plug-in, if it is called by another one.
        """
        own = origin or function

        def call(*arguments: object) -> _Result:
            try:
                result = function(*arguments)
            except (Fault, FaultsFound, PartialCatalog, MemoryError, KeyboardInterrupt):
                raise
            except BaseException as error:
                raise self._fault(point, own, error, arguments) from None
            wrong = check(result)
            if wrong:
                message = f"plug-in `{self._plugin.name}`: {point} gave {wrong}"
                raise Fault.at(WRONG_RESULT, message, self._place(own), notes=_notes(arguments))
            return result

        return call

    def _fault(self, point: str, function: object, error: BaseException, arguments: Sequence[object]) -> Fault:
        message = f"plug-in `{self._plugin.name}`: {point} raised {describe_error(error)}"
        place = place_of_error(error, self.files) or self._place(function)
        return Fault.at(RAISED, message, place, notes=_notes(arguments))

    def _place(self, function: object) -> Span | None:
        """The first line of a function; None if it is not of the plug-in, or not written in Python."""
        import inspect

        code = getattr(inspect.unwrap(function) if callable(function) else None, "__code__", None)
        return (
            None
            if code is None or os.path.abspath(code.co_filename) not in self.files
            else line_span(code.co_filename, code.co_firstlineno)
        )


def _notes(arguments: Sequence[object]) -> list[str]:
    subject = subject_of(arguments)
    return [f"for the operator `{subject}`"] if subject else []


def subject_of(value: object) -> str:
    """The full name of the operator that a value is of, or of its first part that is of one; empty if there is none."""
    if isinstance(value, NativeFunction):
        return f"{value.namespace}::{value.name}"
    if type(value) in (tuple, list):
        assert isinstance(value, (tuple, list))
        return next(filter(None, map(subject_of, value)), "")
    function = getattr(value, "function", None)
    if isinstance(function, NativeFunction):
        return subject_of(function)
    members = getattr(value, "functions", None)
    return subject_of(list(members())) if callable(members) else ""
