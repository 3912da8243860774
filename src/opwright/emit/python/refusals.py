"""Reasons why a function has no Python binding: the checks of one overload, and diagnostics at entries."""

from __future__ import annotations

from functools import cache
from typing import Final

from opwright.convention.python.call import WRAPPED, NoFieldName, NoTensorOptions, NotWrapped, field_names, result_type
from opwright.convention.python.overloads import OutAlone, Overload, Repeated
from opwright.convention.python.parameter import NoPythonType, Parameter
from opwright.model.native_function import NativeFunction
from opwright.schema.base_types import row_help
from opwright.source.codes import (
    ALIKE,
    MIXED_NAMES,
    NO_BASE,
    NO_OPTIONS,
    NO_PYTHON_ARGUMENT,
    NO_PYTHON_RESULT,
    PYTHON_RESERVED_ARGUMENT,
)
from opwright.source.diagnostic import Fault, Label
from opwright.source.span import Span


class ReservedName(Exception):
    """An argument has the name of one that bindings have themselves."""


#: What is raised where there is no binding.
REFUSALS: Final = (Repeated, OutAlone, NoTensorOptions, NoPythonType, NoFieldName, NotWrapped, ReservedName)


def check_overload(overload: Overload) -> None:
    """Raises one of the refusals where Python cannot pass an argument, get the result, or give tensor options."""
    signature, function = overload
    _check_parameters(signature.inputs)
    _check_parameters(signature.keywords)
    field_names(function)
    type = result_type(function)
    if type not in WRAPPED:
        raise NotWrapped(type)
    packed = function.arguments.options is not None
    if bool(signature.options) is not packed and (packed or not function.arguments.out):
        raise NoTensorOptions(function.name.text)


@cache
def _check_parameters(parameters: tuple[Parameter, ...]) -> None:
    """Raises a refusal for a parameter that Python cannot pass. Most lists of parameters are those of many overloads.

    Refusals are not cached.
    """
    for parameter in parameters:
        _ = parameter.reader
        if parameter.name == "requires_grad":
            raise ReservedName


def fault_of(function: NativeFunction, refusal: Exception, span: Span | None = None) -> Fault:
    """Fault of what is refused about a function, which is at fault if the refusal names no other."""
    at = span or function.entry
    match refusal:
        case Repeated():
            return _repetition(refusal)
        case OutAlone():
            return _out_alone(refusal)
        case NoTensorOptions():
            return Fault.at(NO_OPTIONS, f"`{function.name}` makes a tensor and takes no tensor options", at)
        case ReservedName():
            message = f"`{function.name}` has an argument `requires_grad`, which bindings have themselves"
            return Fault.at(PYTHON_RESERVED_ARGUMENT, message, at)
        case NoFieldName():
            message = f"some results of `{function.name}` have names and some have not"
            return Fault.at(MIXED_NAMES, message, at)
        case NotWrapped():
            message = f"Python has no form of what `{function.name}` returns: `{refusal}`"
            return Fault.at(NO_PYTHON_RESULT, message, at)
    message = f"Python can pass nothing to `{function.name}`, which has an argument of type `{refusal}`"
    return Fault.at(NO_PYTHON_ARGUMENT, message, at, help=row_help(str(refusal).rstrip("?[]0123456789")))


def _name(overload: Overload) -> str:
    return f"{'deprecated ' if overload.signature.deprecated else ''}`{overload.function.name}`"


def _span(overload: Overload) -> Span:
    return overload.signature.span or overload.function.entry


def _repetition(refusal: Repeated) -> Fault:
    first, second = refusal.first, refusal.second
    message = f"{_name(second)} has the same Python signature as {_name(first)}"
    other = Label(_span(first), "the other", primary=False)
    notes = (f"both are `{second.signature.text}`",)
    return Fault.at(ALIKE, message, _span(second), notes=notes, also=(other,))


def _out_alone(refusal: OutAlone) -> Fault:
    out = refusal.out
    notes = [f"{_name(candidate)} differs: {difference(out, candidate)}" for candidate in refusal.candidates]
    message = f"{_name(out)} has no counterpart without `out`"
    if not notes:
        notes = [f"no overload of `{out.function.name.name}` is without `out`"]
    return Fault.at(NO_BASE, message, _span(out), notes=tuple(notes))


def difference(overload: Overload, other: Overload) -> str:
    """In what the parameters of two overloads differ first, in words."""
    own, others = overload.signature.without_out, other.signature.without_out
    for parameter, against in zip(own, others, strict=False):
        if parameter.method_text != against.method_text:
            return f"it has `{against.method_text}` in place of `{parameter.method_text}`"
    if len(others) > len(own):
        return f"it has `{others[len(own)].method_text}` besides"
    if len(own) > len(others):
        return f"it lacks `{own[len(others)].method_text}`"
    return "some parameters are keyword-only in one alone"
