"""Forward formulas: those that are written out, and those that follow from the function or its backward formula."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from opwright.dialects.derivatives import codes
from opwright.dialects.derivatives.formulas import substituted, words_of
from opwright.dialects.derivatives.report import EntryReport
from opwright.model.derivatives import Derivative, ForwardDerivative
from opwright.model.native_function import NativeFunction
from opwright.schema.function import Argument
from opwright.schema.types import ListType, Type
from opwright.source.nodes import Scalar

_ELEMENT_WISE: Final = "auto_element_wise"
_LINEAR: Final = "auto_linear"

#: The words that stand for a forward formula which follows from other things.
AUTOMATIC: Final = (_ELEMENT_WISE, _LINEAR)


class ForwardDraft(NamedTuple):
    """A forward formula as the entry gives it: the outputs, their types, and the scalar with the formula."""

    names: tuple[str, ...]
    types: tuple[Type, ...]
    scalar: Scalar


class _Setting(NamedTuple):
    """What forward formulas of a function are worked out from."""

    function: NativeFunction
    argument_names: tuple[str, ...]
    differentiable: tuple[Argument, ...]
    derivatives: tuple[Derivative, ...]
    drafts: Sequence[ForwardDraft]
    report: EntryReport

    @property
    def has_one_output(self) -> bool:
        """Whether a single output has a forward formula."""
        return len(self.drafts) == 1 and len(self.drafts[0].names) == 1


def finished_forward(
    function: NativeFunction,
    argument_names: tuple[str, ...],
    differentiable: tuple[Argument, ...],
    derivatives: tuple[Derivative, ...],
    drafts: Sequence[ForwardDraft],
    report: EntryReport,
) -> tuple[ForwardDerivative, ...]:
    """The forward derivatives of a function.

    `differentiable` are the arguments that have a backward formula. What is derived from the function
    (`auto_linear`) or from its backward formula (`auto_element_wise`) is written out.
    """
    if not drafts:
        return ()
    setting = _Setting(function, argument_names, differentiable, derivatives, drafts, report)
    return tuple([_finished(draft, setting) for draft in drafts])


def _finished(draft: ForwardDraft, setting: _Setting) -> ForwardDerivative:
    formula = draft.scalar.value
    if formula == _ELEMENT_WISE:
        formula = _element_wise(draft, setting)
        tangents = setting.argument_names
    elif formula == _LINEAR:
        formula = _linear(draft, setting)
        tangents = tuple([argument.name for argument in setting.differentiable])
    else:
        tangents = _inputs_read(words_of(formula), "_t", draft, setting)
    words = words_of(formula)
    primals = _inputs_read(words, "_p", draft, setting)
    return ForwardDerivative(
        formula, draft.names, draft.types, tangents, primals, False, False, words, draft.scalar.span
    )


def _inputs_read(words: frozenset[str], ending: str, draft: ForwardDraft, setting: _Setting) -> tuple[str, ...]:
    """The differentiable inputs that a formula reads with an ending to their names: `_p` or `_t`."""
    over_lists = setting.function.name.is_foreach
    read: list[str] = []
    for argument in setting.differentiable:
        if isinstance(argument.type, ListType) and argument.type.elem.text == "Tensor" and not over_lists:
            # A function that takes a list of tensors looks through it by itself.
            continue
        if argument.name in words:
            message = f"`{argument.name}` alone is ambiguous in a forward formula"
            help = f"write `{argument.name}_p` for the value, `{argument.name}_t` for the tangent"
            formula_report = setting.report.formula(draft.scalar)
            formula_report.error(codes.FORWARD_BASE_NAME, message, argument.name, help=help)
            setting.report.failed = True
        if argument.name + ending in words:
            read.append(argument.name)
    return tuple(read)


def _element_wise(draft: ForwardDraft, setting: _Setting) -> str:
    """The backward formula with the tangent for the gradient.

    The Jacobian of such a function is diagonal, so it is its own transpose; for complex values the result has to be
    conjugated before and after.
    """
    fault = None
    if setting.function.name.inplace:
        fault = codes.ELEMENT_WISE_INPLACE, f"`{setting.function.name}` is an in-place function"
    elif len(setting.differentiable) != 1 or not setting.has_one_output:
        fault = codes.ELEMENT_WISE_SHAPE, f"`{_ELEMENT_WISE}` is for one differentiable input and one output"
    elif len(setting.derivatives) != 1:
        fault = codes.ELEMENT_WISE_ALONE, f"`{_ELEMENT_WISE}` needs the backward formula of the only input"
    if fault is not None:
        setting.report.error(*fault, draft.scalar.span)
        return ""
    name = setting.differentiable[0].name
    formula = substituted(setting.derivatives[0].original_formula, "grad", f"{name}_t.conj()")
    return f"({substituted(formula, name, name + '_p')}).conj()"


def _linear(draft: ForwardDraft, setting: _Setting) -> str:
    """The call of the function itself with the tangents of its differentiable inputs."""
    function = setting.function
    if not setting.has_one_output:
        message = f"`{_LINEAR}` is for functions with one differentiable output"
        setting.report.error(codes.LINEAR_SHAPE, message, draft.scalar.span)
    if not setting.differentiable:
        message = f"`{_LINEAR}` needs an argument that has a backward formula"
        setting.report.error(codes.LINEAR_ALONE, message, draft.scalar.span)
    tangents = {argument.name for argument in setting.differentiable}
    arguments = [f"{name}_t" if name in tangents else name for name in setting.argument_names]
    called = f"{function.name.name}_symint" if function.schema.has_symint else function.name.name
    if function.function:
        return f"at::{called}({', '.join(arguments)})"
    return f"{arguments[0]}.{called}({', '.join(arguments[1:])})"
