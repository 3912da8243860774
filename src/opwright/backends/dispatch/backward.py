"""What happens to gradients of an operator on a backend's device."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from opwright.backends.dispatch.device_kernels import Dispatch
from opwright.backends.operator_names import INTEGRAL_COMPOSITES
from opwright.backends.operator_records import ABSENT, Backward, BackwardStatus, OperatorStatus, shown_name
from opwright.convention import public_api
from opwright.emit.autograd.kernels import is_hand_written
from opwright.emit.autograd.wrappers import differentiable_outputs, wrapper
from opwright.model.catalog import Catalog
from opwright.model.derivatives import (
    DEFAULT_KEY,
    NOT_IMPLEMENTED,
    DifferentiabilityInfo,
    DifferentiableFunction,
    MatchedDerivatives,
)
from opwright.model.native_function import NativeFunction
from opwright.release.rules import Rules
from opwright.schema.function import SchemaKind

#: A called function or method, with what stands before it.
_CALL: Final = re.compile(r"(\.|->)?\s*\b([A-Za-z_]\w*)\s*\(")
#: An arithmetic operation between a gradient and something else, or its negation.
_AFTER_GRADIENT: Final = re.compile(r"\bgrads?(?:_\w+)?(?:\[\w+\])?\s*([*/+-])(?![>=])")
_BEFORE_GRADIENT: Final = re.compile(r"([*/+-])\s*grads?(?:_\w+)?\b(?!\s*\()")
_NEGATED_GRADIENT: Final = re.compile(r"(?:^|[(,?:{])\s*-\s*grads?\b")
_ARITHMETIC: Final = {"*": "mul", "/": "div", "+": "add", "-": "sub"}


def called_names(formula: str) -> Iterator[tuple[str, bool]]:
    """Names of the functions that a formula calls, and whether each is called as a method.

    Arithmetic operations on the gradient are calls of operators too.

    >>> sorted(called_names("-grad * at::sgn(self.conj())"))
    [('conj', True), ('mul', False), ('neg', False), ('sgn', False)]
    """
    for match in _CALL.finditer(formula):
        yield match.group(2), match.group(1) is not None
    if _NEGATED_GRADIENT.search(formula):
        yield "neg", False
    before = _NEGATED_GRADIENT.sub(" grad", formula)
    for pattern in (_AFTER_GRADIENT, _BEFORE_GRADIENT):
        for match in pattern.finditer(before):
            yield _ARITHMETIC[match.group(1)], False


class BackwardFacts:
    """Answers what happens to the gradients of operators."""

    def __init__(
        self,
        derivatives: Iterable[MatchedDerivatives],
        catalog: Catalog,
        dispatch: Dispatch,
        rules: Rules,
        *,
        autograd: frozenset[NativeFunction] = frozenset(),
    ) -> None:
        self._with_formulas: Final = {
            function.function: function for matched in derivatives for function in matched.functions
        }
        self._dispatch: Final = dispatch
        #: The functions for which the backend has an autograd kernel.
        self._autograd: Final = autograd
        self._own_key: Final = f"Autograd{dispatch.kernels.key.backend}"
        self._helpers: Final = rules.formula_helpers
        self._integral: Final = INTEGRAL_COMPOSITES.in_release(rules)
        callable_functions = [function for function in catalog.functions if function.kind is not SchemaKind.out]
        self._functions: Final = _by_cpp_name([function for function in callable_functions if function.function])
        self._methods: Final = _by_cpp_name([function for function in callable_functions if function.method])

    def backward(self, function: NativeFunction) -> Backward:
        """What happens to the gradients of one operator."""
        if self._dispatch.is_absent(function):
            return Backward(BackwardStatus.missing)
        if function in self._autograd or any(key.name in (self._own_key, "Autograd") for key in function.kernels):
            return Backward(BackwardStatus.own)
        overrides = self._dispatch.kernels.has_kernel(function)
        if function.has_composite_implicit and not overrides:
            return Backward(BackwardStatus.composite)
        if function.kind is SchemaKind.out:
            return Backward(BackwardStatus.none)
        differentiable = self._with_formulas.get(function, DifferentiableFunction(function, {}, {}))
        key = self._own_key if self._own_key in differentiable.infos else DEFAULT_KEY
        info = differentiable.infos.get(key)
        if not function.needs_derivative or (differentiable.infos and info is None):
            # PyTorch has no kernel for the device's Autograd key either.
            takes_tensors = any(argument.type.is_tensor_like for argument in function.arguments.non_out)
            is_lost = takes_tensors and bool(differentiable_outputs(function, info))
            is_integral = function.root_name in self._integral
            return Backward(BackwardStatus.lost if is_lost and not is_integral else BackwardStatus.none)
        if is_hand_written(function):
            return Backward(BackwardStatus.works)
        decisions = wrapper(differentiable, key)
        if not decisions.records:
            return Backward(BackwardStatus.none)
        if info is None or not info.has_derivatives:
            return Backward(BackwardStatus.unimplemented)
        return self._formulas(info)

    def _formulas(self, info: DifferentiabilityInfo) -> Backward:
        formulas = [derivative.original_formula for derivative in info.derivatives]
        if info.is_not_implemented:
            return Backward(BackwardStatus.unimplemented)
        calls: dict[str, None] = {}
        helpers: dict[str, None] = {}
        lacks: dict[str, None] = {}
        for name, is_method in dict.fromkeys(call for formula in formulas for call in called_names(formula)):
            overloads = (self._methods if is_method else self._functions).get(name.removesuffix("_symint"), ())
            if overloads:
                calls[name.removesuffix("_symint")] = None
                lacks.update(dict.fromkeys(self._missing_operators(overloads)))
            elif name in self._helpers and name != NOT_IMPLEMENTED:
                helpers[name] = None
        status = BackwardStatus.lacks if lacks else BackwardStatus.works
        return Backward(status, tuple(calls), tuple(helpers), tuple(lacks))

    def _missing_operators(self, overloads: Iterable[NativeFunction]) -> list[str]:
        """Operators without which no overload of a C++ function works; none if one of them does.

        Overloads with a composite kernel that is written by hand do not count: nearly all call another overload.
        """
        reaches = [(overload, self._dispatch.reach(overload)) for overload in overloads]
        others = [
            (overload, reach)
            for overload, reach in reaches
            if reach.status is not OperatorStatus.composite or reach.through
        ]
        if not all(reach.status in ABSENT for _, reach in others):
            return []
        return [reach.lacks or shown_name(overload) for overload, reach in others]


def _by_cpp_name(functions: Iterable[NativeFunction]) -> Mapping[str, tuple[NativeFunction, ...]]:
    by_name: dict[str, tuple[NativeFunction, ...]] = {}
    for function in functions:
        name = public_api.name(function.schema)
        by_name[name] = (*by_name.get(name, ()), function)
    return by_name
