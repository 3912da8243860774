"""Which function takes which derivatives.

A function uses its own entry of `derivatives.yaml`. Without one it uses that of its functional form or, if it was
synthesized, that of the mutable function from which it was made. A function over lists uses that of the function that
it calls for each item.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from opwright.dialects.derivatives.formulas import substitute_word
from opwright.dialects.nearest import schema_span
from opwright.model.derivatives import (
    DEFAULT_KEY,
    Derivative,
    Derivatives,
    DifferentiabilityInfo,
    DifferentiableFunction,
    ForwardDerivative,
    InfoByKey,
    MatchedDerivatives,
    SavedAttribute,
    SavedKind,
    words_of,
)
from opwright.model.native_function import NativeFunction
from opwright.release.operator_names.autograd import DERIVATIVE_OF_INPLACE, WITH_ONE_TENSOR, WITHOUT_ALPHA
from opwright.schema.function import Argument, SchemaKind, make_argument
from opwright.schema.names import FOREACH_PREFIX
from opwright.schema.signature import SignatureKey, signature_key
from opwright.schema.types import TENSOR_LIST, ListType
from opwright.source import codes
from opwright.source.diagnostic import Diagnostics, Label
from opwright.source.lazy import lazy_pattern

_GENERATED: Final = "generated"


#: Infos that a function uses, and whether they are its own.
_Match = tuple[InfoByKey, bool]
_NOTHING: Final[_Match] = ({}, False)
#: A function with its own infos.
_Source = tuple[NativeFunction, InfoByKey]


def match_derivatives(
    derivatives: Derivatives, functions: Iterable[NativeFunction], sink: Diagnostics
) -> MatchedDerivatives:
    """Given functions, in their order, with the derivatives that they use.

    Faults that only matching finds, such as a formula that an in-place function cannot use, go to `sink`.
    """
    matcher = _Matcher(derivatives, sink)
    matched = tuple([matcher.differentiable_function(function) for function in functions])
    infos = tuple([info for by_key in derivatives.infos.values() for info in by_key.values()])
    return MatchedDerivatives(matched, infos, tuple(matcher.made), derivatives)


def _infos_by_signature(derivatives: Derivatives, *, functional: bool) -> dict[SignatureKey, _Source]:
    """Infos by the signature that all variants of an operation share."""
    by_signature: dict[SignatureKey, _Source] = {}
    for function, infos in derivatives.infos.items():
        if (function.kind is SchemaKind.functional) is functional:
            by_signature[signature_key(function.schema, strip_default=True)] = (function, infos)
    return by_signature


class _Unmakeable(Exception):
    """Raised if formulas cannot be converted to formulas over lists; the argument says why."""


class _Matcher:
    """Finds the infos of functions, and records those that it makes."""

    def __init__(self, derivatives: Derivatives, sink: Diagnostics) -> None:
        self._infos: Final = derivatives.infos
        self._functional: Final = _infos_by_signature(derivatives, functional=True)
        self._other: Final = _infos_by_signature(derivatives, functional=False)
        self._by_root: Final[dict[str, list[_Source]]] = {}
        for source in (*self._functional.values(), *self._other.values()):
            self._by_root.setdefault(source[0].root_name, []).append(source)
        self._keys: Final[dict[NativeFunction, SignatureKey]] = {}
        self._sink: Final = sink
        self.made: Final[list[DifferentiabilityInfo]] = []

    def differentiable_function(self, function: NativeFunction) -> DifferentiableFunction:
        """A function with its derivatives."""
        infos, is_own = self._match(function)
        if function.kind is not SchemaKind.inplace:
            forward = {key: info.forward_derivatives for key, info in infos.items()}
        else:
            for info in infos.values():
                self._check_inplace_strides(function, info)
            forward = {key: inplace_forward(function, info, is_own, self._sink) for key, info in infos.items()}
        return DifferentiableFunction(function, infos, forward)

    def _match(self, function: NativeFunction) -> _Match:
        over_lists, has_root = function.name.is_foreach, function.root_name in self._by_root
        generated = _GENERATED in function.tags
        if not (over_lists or has_root) or (generated and function.kind is SchemaKind.out):
            return _NOTHING
        own = self._infos.get(function)
        if own is not None:
            return own, True
        if has_root:
            key = self._signature(function)
            if not over_lists and key in self._functional:
                return self._functional[key][1], False
            if generated and key in self._other:
                infos = self._other[key][1]
                self._check_taken_over(function, infos)
                return infos, False
        return self._match_over_lists(function) if over_lists else _NOTHING

    def _signature(self, function: NativeFunction) -> SignatureKey:
        """Signature that a function shares with its variants, computed once for a group."""
        leader = function if function.group is None else function.group.functional
        key = self._keys.get(leader)
        if key is None:
            key = self._keys[leader] = signature_key(leader.schema, strip_default=True)
        return key

    def _match_over_lists(self, function: NativeFunction) -> _Match:
        """Infos of a function over lists.

        In-place functions use the info of the repeated function unchanged: their formulas are evaluated for each item.
        """
        source = self._repeated(function)
        if source is None:
            return _NOTHING
        repeated, infos = source
        info = infos[DEFAULT_KEY]
        if function.name.inplace:
            return {DEFAULT_KEY: info}, False
        try:
            info = _make_info(function, repeated, info)
        except _Unmakeable as reason:
            message = f"no derivatives can be made for `{function.name}` from those of `{repeated.name}`: {reason}"
            self._sink.error(codes.FOREACH, message, schema_span(function))
            return _NOTHING
        self.made.append(info)
        return {DEFAULT_KEY: info}, True

    def _repeated(self, function: NativeFunction) -> _Source | None:
        """The function that a function over lists calls for each item."""
        takes_any = function.name.text in DERIVATIVE_OF_INPLACE.in_any_release
        for source in self._by_root.get(function.root_name.rpartition(FOREACH_PREFIX)[2], ()):
            is_taken = takes_any or source[0].kind is SchemaKind.functional
            if is_taken and DEFAULT_KEY in source[1] and _repeats(function, source[0]):
                return source
        return None

    def _check_taken_over(self, function: NativeFunction, infos: InfoByKey) -> None:
        for info in infos.values():
            saved = next((attribute for attribute in info.saved_inputs if "self" in attribute.name), None)
            if saved is not None:
                message = f"`{function.name}`, made from `{info.function.name}`, cannot use its formulas"
                at = next(derivative.span for derivative in info.derivatives if saved in derivative.saved_inputs)
                self._sink.error(codes.MUTABLE_SELF, message, at, label=f"saves `{saved.name}`")

    def _check_inplace_strides(self, function: NativeFunction, info: DifferentiabilityInfo) -> None:
        for derivative in info.derivatives:
            if "self" in derivative.var_names and any(
                "strides_or_error" in saved.expression for saved in derivative.saved_inputs
            ):
                self._sink.error(
                    codes.INPLACE_STRIDES,
                    f"the strides of `self` cannot be saved for the in-place function `{function.name}`",
                    derivative.span,
                    also=(Label(schema_span(function), "uses the formula", primary=False),),
                )


def _plain_arguments(function: NativeFunction) -> tuple[Argument, ...]:
    parts = function.arguments
    return parts.positional + parts.pre_options + parts.post_options


def _repeats(function: NativeFunction, repeated: NativeFunction) -> bool:
    """Whether a function over lists calls another for each item: each argument is the same, or a list of it."""
    ours, theirs = function.arguments.non_out, _plain_arguments(repeated)
    if len(ours) != len(theirs) and function.name.text not in WITHOUT_ALPHA.in_any_release:
        return False
    return all(
        argument.type is mine.type or argument.type is getattr(mine.type, "elem", None)
        for mine, argument in zip(ours, theirs, strict=False)
    )


def _make_info(
    function: NativeFunction, repeated: NativeFunction, info: DifferentiabilityInfo
) -> DifferentiabilityInfo:
    ours_by_theirs = {
        theirs.name: ours for ours, theirs in zip(function.arguments.non_out, _plain_arguments(repeated), strict=False)
    }
    derivatives = tuple([_backward(derivative, ours_by_theirs) for derivative in info.derivatives])
    names = {name for derivative in derivatives for name in derivative.var_names}
    return DifferentiabilityInfo(
        name=function.name.base,
        function=function,
        node_name=info.node_name and f"Foreach{info.node_name}{function.name.overload}",
        derivatives=derivatives,
        forward_derivatives=tuple(
            [_forward(derivative, function, info.function) for derivative in info.forward_derivatives]
        ),
        differentiable_arguments=tuple([argument for argument in function.arguments.non_out if argument.name in names]),
    )


#: The results of a function over lists, as the node saves them.
_RESULTS: Final = SavedAttribute("result", "result", SavedKind.VALUE, make_argument("result", TENSOR_LIST))


def _backward(derivative: Derivative, arguments: dict[str, Argument]) -> Derivative:
    """Formula for item `i`, with whole lists saved instead of single values and their facts."""
    formula = derivative.formula.replace("grad", "grads[i]").replace("result", "result[i]")
    inputs: list[SavedAttribute] = []
    for saved in derivative.saved_inputs:
        value = saved.expression.partition(".")[0]
        ours = arguments.get(value)
        if ours is None:
            raise _Unmakeable(f"`{saved.expression}` is saved")
        item = f"{ours.name}[i]" if isinstance(ours.type, ListType) else ours.name
        formula = formula.replace(saved.name, saved.expression.replace(value, item))
        inputs.append(SavedAttribute(ours.name, ours.name, SavedKind.VALUE, ours))
    for saved in derivative.saved_outputs:
        if saved.name != "result":
            raise _Unmakeable(f"`{saved.name}` is saved")
    return Derivative(
        formula,
        derivative.formula,
        tuple([arguments[name].name for name in derivative.var_names]),
        tuple(inputs),
        (_RESULTS,) * len(derivative.saved_outputs),
        frozenset(),
        derivative.span,
    )


def _forward(derivative: ForwardDerivative, function: NativeFunction, repeated: NativeFunction) -> ForwardDerivative:
    """Forward formula for item `i`."""
    formula = derivative.formula.replace("result", "result[i]")
    names, types = list(derivative.var_names), list(derivative.var_types)
    tangents, primals = list(derivative.tangents), list(derivative.primals)
    for ours, theirs in zip(function.arguments.non_out, repeated.arguments.non_out, strict=False):
        formula = _rename_argument(formula, ours, theirs, function)
        for listed in (names, tangents, primals):
            if theirs.name in listed:
                at = listed.index(theirs.name)
                listed[at] = ours.name
                if listed is names:
                    types[at] = ours.type
    return derivative._replace(
        formula=formula,
        var_names=tuple(names),
        var_types=tuple(types),
        tangents=tuple(tangents),
        primals=tuple(primals),
    )


def _rename_argument(formula: str, ours: Argument, theirs: Argument, function: NativeFunction) -> str:
    """Formula with an argument of the function over lists instead of the repeated function's."""
    if ours.type.is_tensor_like:
        if not isinstance(ours.type, ListType) and function.name.text not in WITH_ONE_TENSOR.in_any_release:
            raise _Unmakeable(f"`{ours.name}` is not a list")
        for ending in ("_p", "_t"):
            formula = formula.replace(theirs.name + ending, ours.name + ending)
        return formula
    if isinstance(ours.type, ListType):
        return formula.replace(theirs.name, f"{ours.name}[i]")
    return formula if ours.name == theirs.name else formula.replace(theirs.name, ours.name)


_METHOD_OF_TANGENT: Final = lazy_pattern(r"self_t.(\w*)\((.*)\)")


def inplace_forward(
    function: NativeFunction, info: DifferentiabilityInfo, is_own: bool, sink: Diagnostics
) -> tuple[ForwardDerivative, ...]:
    """Forward formula of an in-place function.

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
    """Call of an in-place view of a library on the tangent, which has its sizes; empty for other formulas."""
    if function.library.in_libtorch or "inplace_view" not in function.tags:
        return ""
    library, base = function.library, function.name.base
    calls = rf"{library.api}::{base}(?:_symint)?|{library.operators}::{base}(?:_\w+)?::call"
    match = re.fullmatch(rf"(?:{calls})\(self_t\b(.*)\)", formula)
    if match is None:
        return ""
    return f"{library.operators}::{function.name.unambiguous}::call(self_t_raw{match.group(1)})"


def _written_in_place(formula: str, name: str) -> str:
    """Statement that updates the tangent, with the in-place form of the formula's only call if possible.

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
