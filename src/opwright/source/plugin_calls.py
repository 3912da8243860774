"""Calls of functions of plug-ins, whose mistakes become diagnostics at the place in the plug-in's file."""

from __future__ import annotations

import linecache
from collections.abc import Callable, Iterable
from types import CodeType
from typing import Final, TypeVar

from opwright.source.codes import Code, register
from opwright.source.diagnostic import Fault, Label, Suggestion
from opwright.source.named_tuple import NamedTuple
from opwright.source.span import SourceText, Span

__all__ = ["PLUGIN_RAISED", "PLUGIN_RESULT", "PluginCall", "line_span"]

Returned = TypeVar("Returned")

PLUGIN_RAISED: Final = register(
    Code(
        "E2350",
        "a function of a plug-in raised an exception",
        """
Opwright calls a function of a plug-in, and the function raises an exception. The diagnostic names the plug-in and the
operator, and shows the line of the plug-in that raised it. No output changes.

    def guard(wrapper):
        return GUARDS[wrapper.operator]
               ^^^^^^ the wrapper hook of plug-in `acme` raised KeyError: 'add'

Correct the plug-in. A plug-in that finds a mistake in an input raises `Fault` instead, which is reported at its place.
""",
    )
)
PLUGIN_RESULT: Final = register(
    Code(
        "E2351",
        "a function of a plug-in returned a value of another type",
        """
Each function of a plug-in returns values of the types that its place demands: a wrapper hook returns a text or None, a
change of registrations returns one `Registration` or several.

    def guard(wrapper):
    ^^^^^^^^^^^^^^^^^^^ the wrapper hook of plug-in `acme` returned a list, not a text or None
        return ["acme::Guard guard;"]

A type checker finds such mistakes: the functions are typed in `opwright.plugin`.
""",
    )
)


class PluginCall(NamedTuple):
    """A call of a function of a plug-in.

    `plugin` is the plug-in's name and `point` what the function is for, such as `wrapper hook`. `subject` is what it is
    called for, usually the name of an operator, and `at` is the place of the subject in an input.
    """

    plugin: str
    point: str
    subject: str = ""
    at: Span | None = None

    def result(self, function: Callable[..., Returned], *arguments: object) -> Returned:
        """What the function returns. Raises Fault if the function raises an exception."""
        try:
            return function(*arguments)
        except Fault:
            raise
        except (Exception, SystemExit) as error:
            text = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
            raise self._fault_at(PLUGIN_RAISED, f"raised {text}", _raised_at(error, function)) from None

    def check_result(self, value: object, types: tuple[type, ...], wanted: str, function: object) -> None:
        """Raise Fault if what the function returned has none of the types, which `wanted` names."""
        if not isinstance(value, types):
            returned = "None" if value is None else f"a value of type `{type(value).__name__}`"
            raise self.fault(PLUGIN_RESULT, f"returned {returned}, not {wanted}", function)

    def fault(
        self, code: str, message: str, function: object, *, notes: Iterable[str] = (), help: str | Suggestion = ""
    ) -> Fault:
        """A fault of the function, at the line where it is defined."""
        return self._fault_at(code, message, _defined_at(function), notes=notes, help=help)

    def _fault_at(
        self, code: str, message: str, place: Span | None, *, notes: Iterable[str] = (), help: str | Suggestion = ""
    ) -> Fault:
        subject = f" for `{self.subject}`" if self.subject else ""
        text = f"the {self.point} of plug-in `{self.plugin}` {message}{subject}"
        if place is None:
            return Fault.at(code, text, self.at, notes=tuple(notes), help=help)
        also = () if self.at is None else (Label(self.at, "for this entry", primary=False),)
        return Fault.at(code, text, place, notes=tuple(notes), help=help, also=also)


def line_span(path: str, line: int) -> Span | None:
    """A line of a Python file without its indentation; None if the file cannot be read."""
    lines = linecache.getlines(path)
    if not 0 < line <= len(lines):
        return None
    start = sum(map(len, lines[: line - 1]))
    text = lines[line - 1]
    shown = text.strip()
    start += len(text) - len(text.lstrip())
    return SourceText(path, "".join(lines)).span(start, start + len(shown))


def _code_of(function: object) -> CodeType | None:
    """The code of a function, a method, a partial call or an object that can be called."""
    for _ in range(10):
        code = getattr(function, "__code__", None)
        if isinstance(code, CodeType):
            return code
        inner = getattr(function, "__wrapped__", None) or getattr(function, "func", None)
        function = inner or getattr(function, "__call__")  # noqa: B004, B009
    return None


def _defined_at(function: object) -> Span | None:
    code = _code_of(function)
    return None if code is None else line_span(code.co_filename, code.co_firstlineno)


def _raised_at(error: BaseException, function: object) -> Span | None:
    """The innermost line in the file of the function at which it raised an exception."""
    code = _code_of(function)
    traceback, place = error.__traceback__, None
    while traceback is not None:
        if code is not None and traceback.tb_frame.f_code.co_filename == code.co_filename:
            place = line_span(code.co_filename, traceback.tb_lineno)
        traceback = traceback.tb_next
    return place or _defined_at(function)
