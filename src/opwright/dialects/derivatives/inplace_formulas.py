"""Forward formulas of in-place functions, which overwrite the tangent of `self`."""

from __future__ import annotations

import re
from typing import Final

from opwright.dialects.derivatives.formulas import substitute_word
from opwright.model.derivatives import DifferentiabilityInfo, ForwardDerivative, words_of
from opwright.model.library import PYTORCH
from opwright.model.native_function import NativeFunction
from opwright.source import codes
from opwright.source.diagnostic import Diagnostics
from opwright.source.patterns import lazy_pattern

_METHOD_OF_TANGENT: Final = lazy_pattern(r"self_t.(\w*)\((.*)\)")


def inplace_forward(
    function: NativeFunction, info: DifferentiabilityInfo, is_own: bool, sink: Diagnostics
) -> tuple[ForwardDerivative, ...]:
    """The forward formula of an in-place function.

    `is_own` says that the formula was written for this function. Otherwise it is that of the functional form, which
    reads the value and the tangent of `self` from before the call, and whose result is copied to the tangent.
    """
    if not info.forward_derivatives:
        return ()
    first = info.forward_derivatives[0]
    if len(info.forward_derivatives) != 1:
        message = f"the in-place function `{function.name}` has one output, not {len(info.forward_derivatives)}"
        sink.error(codes.INPLACE_OUTPUTS, message, info.forward_derivatives[1].span)
        return ()
    formula = first.formula
    if "self_p" in first.words:
        if is_own:
            message = f"`self_p` is overwritten before the formula of `{function.name}` is evaluated"
            sink.error(codes.INPLACE_ORIGINAL, message, first.span, help="write `result`, or `original_self_p`")
            return ()
        formula = substitute_word(formula, "self_p", "original_self_p")
        formula = substitute_word(formula, "self_t", "original_self_t")
    formula = substitute_word(formula, "result", "self_p")
    primals = first.primals
    if "self_p" in words_of(formula):
        primals += ("self",)
    if not is_own:
        written = _turned_in_place(formula, function) or _written_in_place(formula, info.name)
        formula = f"self_t_raw.defined() ? {written} : {formula}"
    words = words_of(formula)
    return (
        first._replace(
            formula=formula,
            var_names=("self",),
            primals=primals,
            needs_original_self="original_self_p" in words or "original_self_t" in words,
            from_functional=not is_own,
        ),
    )


def _turned_in_place(formula: str, function: NativeFunction) -> str:
    """The call of an in-place view of a library on the tangent, which has its sizes; empty for other formulas."""
    if function.library is PYTORCH or "inplace_view" not in function.tags:
        return ""
    library, base = function.library, function.name.base
    calls = rf"{library.api}::{base}(?:_symint)?|{library.operators}::{base}(?:_\w+)?::call"
    match = re.fullmatch(rf"(?:{calls})\(self_t\b(.*)\)", formula)
    if match is None:
        return ""
    return f"{library.operators}::{function.name.unambiguous}::call(self_t_raw{match.group(1)})"


def _written_in_place(formula: str, name: str) -> str:
    """The statement that updates the tangent, with the in-place form of the formula's only call if possible.

    >>> _written_in_place("self_t.zero()", "zero")
    'self_t_raw.zero_()'
    >>> _written_in_place("self_t * other_p", "mul")
    'self_t_raw.copy_(self_t * other_p)'
    """
    match = _METHOD_OF_TANGENT.fullmatch(formula)
    if match is not None and match.group(1) == name and _closes_last(match.group(2)):
        return f"self_t_raw.{name}_({match.group(2)})"
    return f"self_t_raw.copy_({formula})"


def _closes_last(inside: str) -> bool:
    """Whether the first parenthesis of a text is closed by the last one."""
    depth = 0
    for character in inside:
        depth += (character == "(") - (character == ")")
        if depth < 0:
            return False
    return True
