"""Which function takes which derivatives.

A function uses its own entry of `derivatives.yaml`. Without one it uses that of its functional form or, if it was
synthesized, that of the mutable function from which it was made. A function over lists uses that of the function that
it calls for each item.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from opwright.dialects.derivatives.foreach import ForeachSources
from opwright.dialects.derivatives.inplace_formulas import inplace_forward
from opwright.dialects.nearest import schema_span
from opwright.model.derivatives import (
    DEFAULT_KEY,
    Derivatives,
    DifferentiabilityInfo,
    DifferentiableFunction,
    ForwardDerivative,
    InfoByKey,
    MatchedDerivatives,
)
from opwright.model.native_function import NativeFunction
from opwright.schema.function import SchemaKind
from opwright.schema.signature import SignatureKey, signature_key
from opwright.source import codes
from opwright.source.diagnostic import Diagnostics, Label
from opwright.source.named_tuple import NamedTuple

_GENERATED: Final = "generated"


class Match(NamedTuple):
    """The infos that a function uses, and whether they are its own."""

    infos: InfoByKey
    is_own: bool


_NOTHING: Final = Match({}, False)


def match_derivatives(
    derivatives: Derivatives, functions: Iterable[NativeFunction], sink: Diagnostics
) -> MatchedDerivatives:
    """The given functions, in their order, with the derivatives that they use.

    Faults that only matching finds, such as a formula that an in-place function cannot use, go to `sink`.
    """
    matcher = _Matcher(derivatives, sink)
    matched = tuple([matcher.differentiable_function(function) for function in functions])
    infos = tuple([info for by_key in derivatives.infos.values() for info in by_key.values()])
    return MatchedDerivatives(matched, infos, tuple(matcher.made), derivatives)


def _infos_by_signature(
    derivatives: Derivatives, *, functional: bool
) -> dict[SignatureKey, tuple[NativeFunction, InfoByKey]]:
    """The infos by the signature that all variants of an operation share."""
    by_signature: dict[SignatureKey, tuple[NativeFunction, InfoByKey]] = {}
    for function, infos in derivatives.infos.items():
        if (function.kind is SchemaKind.functional) is functional:
            by_signature[signature_key(function.schema, strip_default=True)] = (function, infos)
    return by_signature


class _Matcher:
    """Finds the infos of functions, and records those that it makes."""

    __slots__ = ("_foreach", "_functional", "_keys", "_other", "_own", "_roots", "_sink", "made")

    def __init__(self, derivatives: Derivatives, sink: Diagnostics) -> None:
        self._own: Final = dict(derivatives.infos)
        self._functional: Final = _infos_by_signature(derivatives, functional=True)
        self._other: Final = _infos_by_signature(derivatives, functional=False)
        self._roots: Final = frozenset(function.root_name for function in derivatives.infos)
        self._foreach: Final = ForeachSources(self._functional.values(), self._other.values(), sink)
        self._keys: Final[dict[NativeFunction, SignatureKey]] = {}
        self._sink: Final = sink
        self.made: Final[list[DifferentiabilityInfo]] = []

    def differentiable_function(self, function: NativeFunction) -> DifferentiableFunction:
        """A function with its derivatives."""
        if function.root_name not in self._roots and not function.name.is_foreach:
            return DifferentiableFunction(function, {}, {})
        match = self._match(function)
        infos = match.infos
        if not infos:
            return DifferentiableFunction(function, infos, {})
        if function.kind is not SchemaKind.inplace:
            return DifferentiableFunction(
                function,
                infos,
                {key: info.forward_derivatives for key, info in infos.items()},
            )
        forward: dict[str, tuple[ForwardDerivative, ...]] = {}
        for key, info in infos.items():
            self._check_inplace_strides(function, info)
            forward[key] = inplace_forward(function, info, match.is_own, self._sink)
        return DifferentiableFunction(function, infos, forward)

    def _match(self, function: NativeFunction) -> Match:
        generated = _GENERATED in function.tags
        if generated and function.kind is SchemaKind.out:
            return _NOTHING
        own = self._own.get(function)
        if own is not None:
            return Match(own, True)
        over_lists = function.name.is_foreach
        if function.root_name in self._roots:
            key = self._signature(function)
            if not over_lists and key in self._functional:
                return Match(self._functional[key][1], False)
            if generated and key in self._other:
                infos = self._other[key][1]
                self._check_taken_over(function, infos)
                return Match(infos, False)
        return self._foreach_match(function) if over_lists else _NOTHING

    def _signature(self, function: NativeFunction) -> SignatureKey:
        """The signature that a function shares with its variants, computed once for a group."""
        leader = function if function.group is None else function.group.functional
        key = self._keys.get(leader)
        if key is None:
            key = self._keys[leader] = signature_key(leader.schema, strip_default=True)
        return key

    def _foreach_match(self, function: NativeFunction) -> Match:
        info, is_made = self._foreach.info_for(function)
        if info is None:
            return _NOTHING
        infos = {DEFAULT_KEY: info}
        if is_made:
            self._own[function] = infos
            self.made.append(info)
        return Match(infos, is_made)

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
