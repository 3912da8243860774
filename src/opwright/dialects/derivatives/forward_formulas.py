"""Forward formulas: written ones, and those that follow from the function or from its backward formula."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from opwright.dialects.derivatives.formulas import substitute_word
from opwright.dialects.derivatives.functions import EntryReport
from opwright.model.derivatives import Derivative, ForwardDerivative, words_of
from opwright.model.native_function import NativeFunction
from opwright.schema.function import Argument
from opwright.schema.types import ListType, Type
from opwright.source import codes
from opwright.source.nodes import Scalar
from opwright.source.records import NamedTuple

_ELEMENT_WISE: Final = "auto_element_wise"
_LINEAR: Final = "auto_linear"

#: The words that ask for a derived forward formula.
AUTOMATIC: Final = (_ELEMENT_WISE, _LINEAR)


class WrittenForward(NamedTuple):
    """A forward formula in an entry: the outputs, their types, and the scalar with the formula."""

    names: tuple[str, ...]
    types: tuple[Type, ...]
    scalar: Scalar


class ForwardSources(NamedTuple):
    """What the forward formulas of a function are made from.

    `differentiable` are the arguments that have a backward formula, `derivatives` these formulas, and `written` the
    forward formulas as the entry gives them.
    """

    function: NativeFunction
    argument_names: tuple[str, ...]
    differentiable: tuple[Argument, ...]
    derivatives: tuple[Derivative, ...]
    written: Sequence[WrittenForward]
    report: EntryReport

    @property
    def has_one_output(self) -> bool:
        """Whether a single output has a forward formula."""
        return len(self.written) == 1 and len(self.written[0].names) == 1


def build_forward(sources: ForwardSources) -> tuple[ForwardDerivative, ...]:
    """Forward derivatives of a function.

    A formula that follows from the function (`auto_linear`) or from its backward formula (`auto_element_wise`) is
    written out.
    """
    return tuple([_build_one(written, sources) for written in sources.written])


def _build_one(written: WrittenForward, sources: ForwardSources) -> ForwardDerivative:
    formula = written.scalar.value
    if formula == _ELEMENT_WISE:
        formula = _element_wise(written, sources)
        tangents = sources.argument_names
    elif formula == _LINEAR:
        formula = _linear(written, sources)
        tangents = tuple([argument.name for argument in sources.differentiable])
    else:
        tangents = _inputs_read(words_of(formula), "_t", written, sources)
    words = words_of(formula)
    primals = _inputs_read(words, "_p", written, sources)
    return ForwardDerivative(
        formula, written.names, written.types, tangents, primals, False, False, written.scalar.span
    )


def _inputs_read(
    words: frozenset[str], ending: str, written: WrittenForward, sources: ForwardSources
) -> tuple[str, ...]:
    """Differentiable inputs that a formula reads with the suffix `_p` or `_t`."""
    over_lists = sources.function.name.is_foreach
    read: list[str] = []
    for argument in sources.differentiable:
        if isinstance(argument.type, ListType) and argument.type.elem.text == "Tensor" and not over_lists:
            # A function that takes a list of tensors handles the tangents of its items itself.
            continue
        if argument.name in words:
            message = f"`{argument.name}` alone is ambiguous in a forward formula"
            help = f"write `{argument.name}_p` for the value, `{argument.name}_t` for the tangent"
            formula_report = sources.report.formula(written.scalar)
            formula_report.error(codes.FORWARD_BASE_NAME, message, argument.name, help=help)
            sources.report.failed = True
        if argument.name + ending in words:
            read.append(argument.name)
    return tuple(read)


def _element_wise(written: WrittenForward, sources: ForwardSources) -> str:
    """Backward formula with the tangent for the gradient.

    The Jacobian of such a function is diagonal, so it equals its transpose. For complex values, the tangent and the
    result are conjugated.
    """
    fault = None
    if sources.function.name.inplace:
        fault = codes.ELEMENT_WISE_INPLACE, f"`{sources.function.name}` is an in-place function"
    elif len(sources.differentiable) != 1 or not sources.has_one_output:
        fault = codes.ELEMENT_WISE_SHAPE, f"`{_ELEMENT_WISE}` is for one differentiable input and one output"
    if fault is not None:
        sources.report.error(*fault, written.scalar.span)
        return ""
    name = sources.differentiable[0].name
    formula = substitute_word(sources.derivatives[0].original_formula, "grad", f"{name}_t.conj()")
    return f"({substitute_word(formula, name, name + '_p')}).conj()"


def _linear(written: WrittenForward, sources: ForwardSources) -> str:
    """Call of the function itself with the tangents of its differentiable inputs."""
    function = sources.function
    if not sources.has_one_output:
        message = f"`{_LINEAR}` is for functions with one differentiable output"
        sources.report.error(codes.LINEAR_SHAPE, message, written.scalar.span)
    if not sources.differentiable:
        message = f"`{_LINEAR}` needs an argument that has a backward formula"
        sources.report.error(codes.LINEAR_ALONE, message, written.scalar.span)
    tangents = {argument.name for argument in sources.differentiable}
    arguments = [f"{name}_t" if name in tangents else name for name in sources.argument_names]
    if not function.library.in_libtorch:
        # Libraries add no methods to tensors, and have no function for an overload with `manual_cpp_binding`.
        return f"{function.library.operators}::{function.name.unambiguous}::call({', '.join(arguments)})"
    called = f"{function.name.name}_symint" if function.schema.has_symint else function.name.name
    if function.function:
        return f"{function.library.api}::{called}({', '.join(arguments)})"
    return f"{arguments[0]}.{called}({', '.join(arguments[1:])})"
