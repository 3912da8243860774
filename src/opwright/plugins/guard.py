"""Calls of functions of plug-ins: whatever they raise, and whatever they give that is wrong, becomes a diagnostic."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Sequence
from typing import TypeVar

from opwright.model.catalog import PartialCatalog
from opwright.model.native_function import NativeFunction
from opwright.plugins.faults import describe_error, line_span, place_of_error
from opwright.plugins.plugin import Plugin
from opwright.plugins.sources import sources_of
from opwright.source.codes import RAISED, WRONG_RESULT
from opwright.source.diagnostic import Fault, FaultsFound
from opwright.source.span import Span

__all__ = ["CallGuard", "subject_of"]

_Result = TypeVar("_Result")


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
