"""The derivatives of libraries with the stable C++ interface, whose formulas run in Python."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from opwright.dialects.derivatives.entry import scope_of
from opwright.dialects.library.callable_operators import NONE, CallableOperators, PythonValue
from opwright.dialects.library.formula_names import FormulaNames, ForwardNames, differentiable_results
from opwright.dialects.library.python_formulas import NoPython, PythonTranslator
from opwright.model.derivatives import (
    DEFAULT_KEY,
    Derivative,
    DifferentiabilityInfo,
    DifferentiableFunction,
    ForwardDerivative,
    MatchedDerivatives,
)
from opwright.model.operator_library import (
    OperatorLibrary,
    PythonFormula,
    PythonForward,
    PythonGradient,
    gives_list,
    is_tensor_list,
)
from opwright.schema.function import SchemaKind
from opwright.schema.types import ListType
from opwright.source import codes
from opwright.source.diagnostic import Diagnostics
from opwright.source.nodes import Mapping as MappingNode
from opwright.source.nodes import Node, Scalar
from opwright.source.span import Span

__all__ = ["python_gradients"]


def python_gradients(
    library: OperatorLibrary,
    matched: MatchedDerivatives,
    entries: Iterable[Node],
    pytorch: str,
    sink: Diagnostics,
) -> tuple[PythonGradient, ...]:
    """The derivatives that the package of a library registers. `pytorch` is the text of PyTorch's entries."""
    names = library.library
    schemas = {names.namespace: [own.schema for own in library.catalog.functions]}
    operators = CallableOperators(pytorch, schemas, library.oldest_release)
    spaces = dict.fromkeys((names.api, names.namespace, f"::{names.api}"), names.namespace)
    maker = _Maker(operators, spaces, {scalar.span: scalar for entry in entries for scalar in _scalars(entry)}, sink)
    gradients = [maker.gradient(entry) for entry in matched.functions if entry.infos]
    return tuple([gradient for gradient in gradients if gradient is not None])


def _scalars(node: Node) -> Iterator[Scalar]:
    """The texts in an entry, also those for one dispatch key."""
    if isinstance(node, Scalar):
        yield node
    elif isinstance(node, MappingNode):
        for _, value in node.entries:
            yield from _scalars(value)


class _Maker:
    """Makes the gradients of one library's operators."""

    def __init__(
        self,
        operators: CallableOperators,
        spaces: Mapping[str, str],
        scalars: Mapping[Span, Scalar],
        sink: Diagnostics,
    ) -> None:
        self._operators: Final = operators
        self._spaces: Final = spaces
        self._scalars: Final = scalars
        self._sink: Final = sink

    def gradient(self, entry: DifferentiableFunction) -> PythonGradient | None:
        """The gradient of an operator; None if it has a fault, which is reported, or no backward formula."""
        info = entry.infos.get(DEFAULT_KEY, next(iter(entry.infos.values())))
        if entry.function is not info.function or not info.derivatives:
            return None
        reason = _refusal(info, entry)
        if reason:
            at = info.derivatives[0].span
            message = f"{reason}, which needs `abi: native`"
            help = "give the derivative to a functional operator"
            self._sink.error(codes.STABLE_FIELD, message, at, help=help)
            return None
        formulas = [self._formula(info, derivative) for derivative in info.derivatives]
        whole = tuple([formula for formula in formulas if formula is not None])
        forward = [self._forward(info, derivative) for derivative in info.forward_derivatives]
        tangents = tuple([formula for formula in forward if formula is not None])
        if len(whole) < len(formulas) or len(tangents) < len(forward):
            return None
        return PythonGradient(entry.function, whole, differentiable_results(info), tangents)

    def _formula(self, info: DifferentiabilityInfo, derivative: Derivative) -> PythonFormula | None:
        names = FormulaNames(info, _results(info), derivative.var_names)
        lists = {argument.name: is_tensor_list(argument) for argument in info.function.arguments.all}
        wanted = ["Tensor[]" if lists[name] else "Tensor" for name in derivative.var_names]
        text = self._translated(derivative.original_formula, derivative.span, names, wanted)
        if text is None:
            return None
        saved = tuple(names.saved.values())
        return PythonFormula(text, derivative.var_names, saved, frozenset(names.gradients), frozenset(names.asked))

    def _forward(self, info: DifferentiabilityInfo, derivative: ForwardDerivative) -> PythonForward | None:
        positions = _results(info)
        names = ForwardNames(info, positions)
        wanted = ["Tensor[]" if gives_list(info.function) else "Tensor"] * len(derivative.var_names)
        text = self._translated(derivative.formula, derivative.span, names, wanted)
        if text is None:
            return None
        return PythonForward(text, tuple([positions[name] for name in derivative.var_names]), tuple(names.tangents))

    def _translated(self, formula: str, at: Span, names: FormulaNames | ForwardNames, wanted: list[str]) -> str | None:
        """A formula in Python that gives values of the wanted types; None if it has a fault, which is reported."""
        place, help = (0, len(formula)), "give a tensor for each argument"
        try:
            value = PythonTranslator(formula, names, self._operators, self._spaces).translate()
            message = _mismatch(value, wanted)
        except NoPython as fault:
            place, message, help = fault.at, fault.message, fault.help
        if not message:
            return value.text
        scalar = self._scalars.get(at)
        # A formula that is made from another one is no text of the file.
        span = scalar.span_of(*place) if scalar is not None and scalar.value == formula else at
        self._sink.error(codes.FORMULA_NOT_PYTHON, message, span, help=help)
        return None


def _results(info: DifferentiabilityInfo) -> dict[str, int]:
    """The positions of the results, by the names that formulas read."""
    return {savable.name: index for index, savable in enumerate(scope_of(info.function).results)}


def _refusal(info: DifferentiabilityInfo, entry: DifferentiableFunction) -> str:
    """What the derivative of an operator needs that Python cannot register; empty if it can."""
    function = info.function
    if function.kind is not SchemaKind.functional:
        return f"the derivative of `{function.name}` is that of an operator that writes to its arguments"
    if function.is_view:
        return f"the derivative of `{function.name}` is that of a view"
    if set(entry.infos) != {DEFAULT_KEY}:
        return f"`{function.name}` has formulas for some dispatch keys"
    if info.output_condition is not None:
        return f"`{function.name}` has an output that is differentiable under a condition"
    if len(function.schema.returns) > 1 and any(
        isinstance(result.type, ListType) and result.type.is_tensor_like for result in function.schema.returns
    ):
        return f"`{function.name}` has derivatives and returns a list beside other results"
    return ""


def _mismatch(value: PythonValue, wanted: list[str]) -> str:
    """Why a value does not have the wanted types; empty if it has."""
    given = value.type.strip("()").split(", ") if value.type.startswith("(") else [value.type]
    if len(wanted) > 1 and value.type == "Tensor[]":
        given = wanted
    plain = [type.replace("?", "").replace(NONE, "Tensor") for type in given]
    if plain == wanted:
        return ""
    return f"the formula gives `{value.type}`, and `{', '.join(wanted)}` is needed"
