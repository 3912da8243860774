"""From what the convention refuses to diagnostics at the entries that are at fault."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from opwright.convention.python.call import NoTensorOptions
from opwright.convention.python.overloads import OutAlone, Overload, Repeated
from opwright.convention.python.parser import NoPythonType
from opwright.convention.python.results import NoFieldName
from opwright.emit.python.codes import ALIKE, MIXED_NAMES, NO_BASE, NO_OPTIONS, NO_PYTHON_ARGUMENT
from opwright.model.native_function import NativeFunction
from opwright.source.diagnostic import Fault, Label
from opwright.source.span import Span

#: What the convention raises where there is no binding.
REFUSALS: Final = (Repeated, OutAlone, NoTensorOptions, NoPythonType, NoFieldName)


def refused(overloads: Sequence[Overload], refusal: Exception) -> Fault:
    """The fault of what the convention refuses about the overloads of a Python function."""
    if isinstance(refusal, Repeated):
        return _repeated(refusal)
    if isinstance(refusal, OutAlone):
        return _out_alone(refusal)
    function = _at_fault(overloads, refusal)
    name = function.name
    if isinstance(refusal, NoTensorOptions):
        return Fault.at(NO_OPTIONS, f"`{name}` makes a tensor and takes no tensor options", function.entry)
    if isinstance(refusal, NoFieldName):
        return Fault.at(MIXED_NAMES, f"some results of `{name}` have names and some have not", function.entry)
    return unpassable(function, str(refusal))


def unpassable(function: NativeFunction, type: str) -> Fault:
    """The fault that a function has an argument of a type that Python cannot pass."""
    message = f"Python can pass nothing to `{function.name}`, which has an argument of type `{type}`"
    return Fault.at(NO_PYTHON_ARGUMENT, message, function.entry)


def _at_fault(overloads: Sequence[Overload], refusal: Exception) -> NativeFunction:
    """The overload that a refusal is about: it names the overload, or a type of its arguments."""
    word = str(refusal)
    functions = [one.function for one in overloads]
    for function in functions:
        if function.name.text == word or any(word in one.type.text for one in function.arguments.all):
            return function
    return functions[0]


def _name(overload: Overload) -> str:
    return f"{'deprecated ' if overload.signature.deprecated else ''}`{overload.function.name}`"


def _place(overload: Overload) -> Span:
    return overload.function.entry


def _repeated(refusal: Repeated) -> Fault:
    first, second = refusal.first, refusal.second
    message = f"{_name(second)} has the same Python signature as {_name(first)}"
    other = Label(_place(first), "the other", primary=False)
    return Fault.at(ALIKE, message, _place(second), notes=(f"both are `{second.signature.text}`",), also=(other,))


def _out_alone(refusal: OutAlone) -> Fault:
    out = refusal.out
    notes = [f"{_name(one)} differs: {difference(out, one)}" for one in refusal.candidates]
    message = f"{_name(out)} has no counterpart without `out`"
    if not notes:
        notes = [f"no overload of `{out.function.name.name}` is without `out`"]
    return Fault.at(NO_BASE, message, _place(out), notes=tuple(notes))


def difference(overload: Overload, other: Overload) -> str:
    """In what the parameters of two overloads differ first, in words."""
    own, others = overload.signature.without_out, other.signature.without_out
    for one, against in zip(own, others, strict=False):
        if one.method_text != against.method_text:
            return f"it has `{against.method_text}` in place of `{one.method_text}`"
    if len(others) > len(own):
        return f"it has `{others[len(own)].method_text}` besides"
    if len(own) > len(others):
        return f"it lacks `{own[len(others)].method_text}`"
    return "some parameters are keyword-only in one alone"
