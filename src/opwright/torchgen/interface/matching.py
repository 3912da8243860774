"""Which function takes which derivatives, found by Opwright's own matching."""

from __future__ import annotations

from collections.abc import Sequence

from opwright.convention import public_api
from opwright.dialects.derivatives.matching import match_derivatives
from opwright.emit.autograd.saved import saved_type
from opwright.model.derivatives import Derivative as ModelDerivative
from opwright.model.derivatives import Derivatives, SavedKind
from opwright.model.derivatives import DifferentiabilityInfo as ModelInfo
from opwright.model.derivatives import ForwardDerivative as ModelForward
from opwright.model.derivatives import SavedAttribute as ModelSaved
from opwright.source.diagnostic import Diagnostics
from opwright.source.span import Span
from opwright.source.text import SourceFile
from opwright.torchgen.interface.cpp_types import NamedCType, binding_of, ctype_of, role_of
from opwright.torchgen.interface.derivatives import (
    Derivative,
    DifferentiabilityInfo,
    ForwardDerivative,
    NativeFunctionWithDifferentiabilityInfo,
    SavedAttribute,
)
from opwright.torchgen.interface.entries import stop_at_errors
from opwright.torchgen.interface.functions import NativeFunction, model_function
from opwright.torchgen.interface.schema import FunctionSchema
from opwright.torchgen.interface.types import model_type, type_of

InfoByKey = dict[str, DifferentiabilityInfo]


def match_differentiability_info(
    native_functions: list[NativeFunction], differentiability_infos: dict[FunctionSchema, InfoByKey]
) -> list[NativeFunctionWithDifferentiabilityInfo]:
    """The functions with the derivatives that they use: their own, or those of another form of the operation.

    Functions over lists get infos that are made for them, which are added to the dictionary. Raises AssertionError with
    all mistakes in formulas.
    """
    functions = {f.func: f for f in native_functions}
    pairs = _Pairs()
    infos = {
        model_function(functions.get(func, next(iter(by_key.values())).func)): {
            key: pairs.model_info(info) for key, info in by_key.items()
        }
        for func, by_key in differentiability_infos.items()
    }
    sink = Diagnostics()
    matched = match_derivatives(Derivatives(infos, frozenset()), map(model_function, native_functions), sink)
    stop_at_errors(sink)
    new = {info.function for info in matched.made}
    results = []
    for f, match in zip(native_functions, matched.functions, strict=True):
        by_key = {key: pairs.info(info, f) for key, info in match.infos.items()}
        if match.function in new:
            differentiability_infos[f.func] = by_key
        forward: dict[str, Sequence[ForwardDerivative]] = {}
        forward = {key: [pairs.forward(derivative) for derivative in listed] for key, listed in match.forward.items()}
        results.append(
            NativeFunctionWithDifferentiabilityInfo(func=f, info=by_key or None, fw_derivatives=forward or None)
        )
    return results


class _Pairs:
    """Opwright's derivatives for records, and the records for these and for new ones."""

    def __init__(self) -> None:
        # The objects of the model stay alive here, so that no other one gets the identity of one of them.
        self._infos: dict[int, tuple[ModelInfo, DifferentiabilityInfo]] = {}
        self._forward: dict[int, tuple[ModelForward, ForwardDerivative]] = {}

    def model_info(self, info: DifferentiabilityInfo) -> ModelInfo:
        """Opwright's derivatives for a record, with what matching asks for."""
        span = SourceFile(info.func.loc.file, "").span(0, 0)
        origin = ModelInfo(
            name=info.name,
            function=model_function(info.func),
            node_name=info.op,
            derivatives=tuple([_model_derivative(derivative, span) for derivative in info.derivatives]),
            forward_derivatives=tuple(
                [self._model_forward(derivative, span) for derivative in info.forward_derivatives]
            ),
            differentiable_arguments=(),
        )
        self._infos[id(origin)] = origin, info
        return origin

    def _model_forward(self, derivative: ForwardDerivative, span: Span) -> ModelForward:
        origin = ModelForward(
            derivative.formula,
            derivative.var_names,
            tuple(map(model_type, derivative.var_types)),
            derivative.required_inputs_fw_grad or (),
            derivative.required_inputs_primal or (),
            derivative.required_original_self_value,
            derivative.is_reusing_outplace_formula,
            span,
        )
        self._forward[id(origin)] = origin, derivative
        return origin

    def info(self, origin: ModelInfo, f: NativeFunction) -> DifferentiabilityInfo:
        """The record of derivatives that a function uses, which is new if they were made for it."""
        if id(origin) not in self._infos:
            self._infos[id(origin)] = origin, self._new_info(origin, f)
        return self._infos[id(origin)][1]

    def forward(self, origin: ModelForward) -> ForwardDerivative:
        """The record of a forward formula."""
        if id(origin) not in self._forward:
            derivative = ForwardDerivative(
                formula=origin.formula,
                var_names=origin.var_names,
                var_types=tuple(map(type_of, origin.var_types)),
                required_inputs_fw_grad=origin.tangents,
                required_inputs_primal=origin.primals,
                required_original_self_value=origin.needs_original_self,
                is_reusing_outplace_formula=origin.from_functional,
            )
            self._forward[id(origin)] = origin, derivative
        return self._forward[id(origin)][1]

    def _new_info(self, origin: ModelInfo, f: NativeFunction) -> DifferentiabilityInfo:
        names = {argument.name for argument in origin.differentiable_arguments}
        bindings = public_api.bindings(origin.function, faithful=False, method=False, symint=True)
        return DifferentiabilityInfo(
            name=origin.name,
            func=f,
            op=origin.node_name,
            derivatives=[_derivative(derivative, origin) for derivative in origin.derivatives],
            forward_derivatives=list(map(self.forward, origin.forward_derivatives)),
            all_saved_inputs=_saved(origin.saved_inputs, origin),
            all_saved_outputs=_saved(origin.saved_outputs, origin),
            available_named_gradients=(),
            used_named_gradients=set(),
            args_with_derivatives=[binding_of(binding) for binding in bindings if binding.name in names],
            non_differentiable_arg_names=[],
            output_differentiability=None,
            output_differentiability_conditions=None,
        )


def _model_derivative(derivative: Derivative, span: Span) -> ModelDerivative:
    return ModelDerivative(
        derivative.formula,
        derivative.original_formula,
        derivative.var_names,
        _model_saved(derivative.saved_inputs),
        _model_saved(derivative.saved_outputs),
        frozenset(derivative.named_gradients),
        span,
    )


def _model_saved(saved: Sequence[SavedAttribute]) -> tuple[ModelSaved, ...]:
    """What formulas save, by name: matching does not ask for the kinds."""
    return tuple([ModelSaved(role_of(own.nctype), own.expr, SavedKind.VALUE, None) for own in saved])


def _derivative(origin: ModelDerivative, info: ModelInfo) -> Derivative:
    return Derivative(
        formula=origin.formula,
        original_formula=origin.original_formula,
        var_names=origin.var_names,
        saved_inputs=_saved(origin.saved_inputs, info),
        saved_outputs=_saved(origin.saved_outputs, info),
        named_gradients=set(),
    )


def _saved(origins: Sequence[ModelSaved], info: ModelInfo) -> tuple[SavedAttribute, ...]:
    return tuple(
        [
            SavedAttribute(expr=origin.expression, nctype=NamedCType(origin.name, ctype_of(saved_type(origin, info))))
            for origin in origins
        ]
    )
