"""Derivatives of functions, as records over Opwright's."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from typing import ClassVar

from opwright.convention import public_api
from opwright.cpp.c_types import CType
from opwright.dialects.derivatives.entry import scope_of
from opwright.emit.autograd.saved import FACTS, saved_type
from opwright.model.derivatives import Derivative as ModelDerivative
from opwright.model.derivatives import DifferentiabilityInfo as ModelInfo
from opwright.model.derivatives import DifferentiableFunction, SavedKind
from opwright.model.derivatives import ForwardDerivative as ModelForward
from opwright.model.derivatives import SavedAttribute as ModelSaved
from opwright.model.native_function import NativeFunction as ModelFunction
from opwright.torchgen.interface.cpp_types import Binding, NamedCType, bindings_of, ctype_of, model_ctype, role_of
from opwright.torchgen.interface.functions import (
    NativeFunction,
    NativeFunctionsViewGroup,
    model_function,
    start_of_file,
)
from opwright.torchgen.interface.records import Computed, Record, record
from opwright.torchgen.interface.types import Type, model_type, type_of


@record("nctype expr")
class SavedAttribute(Record):
    """A value that the node of a function keeps from the forward call."""

    expr: str
    nctype: NamedCType


@record("formula original_formula var_names saved_inputs saved_outputs named_gradients")
class Derivative(Record):
    """Gradient of some arguments."""

    var_names: tuple[str, ...]
    formula: str
    original_formula: str
    named_gradients: set[str]
    saved_inputs: tuple[SavedAttribute, ...]
    saved_outputs: tuple[SavedAttribute, ...]


@record(
    "formula var_names var_types required_inputs_fw_grad required_inputs_primal required_original_self_value"
    " is_reusing_outplace_formula"
)
class ForwardDerivative(Record):
    """Forward gradient of some results."""

    is_reusing_outplace_formula: bool
    required_original_self_value: bool
    required_inputs_primal: tuple[str, ...] | None
    required_inputs_fw_grad: tuple[str, ...] | None
    var_types: tuple[Type, ...]
    var_names: tuple[str, ...]
    formula: str


def saved_records(attributes: Iterable[ModelSaved], info: ModelInfo) -> list[SavedAttribute]:
    """Records of what formulas save."""
    return [
        SavedAttribute(nctype=NamedCType(saved.name, ctype_of(saved_type(saved, info))), expr=saved.expression)
        for saved in attributes
    ]


def forward_records(origins: Iterable[ModelForward]) -> list[ForwardDerivative]:
    """Records of forward formulas."""
    return [
        ForwardDerivative(
            formula=origin.formula,
            var_names=origin.var_names,
            var_types=tuple(map(type_of, origin.var_types)),
            required_inputs_fw_grad=origin.tangents,
            required_inputs_primal=origin.primals,
            required_original_self_value=origin.needs_original_self,
            is_reusing_outplace_formula=origin.from_functional,
        )
        for origin in origins
    ]


def _differentiated(info: ModelInfo) -> list[Binding]:
    # Derivatives of the copying form of a view keep the arguments of the view.
    function = info.function
    parameters = [
        public_api.bindings_by_argument(True, function.style, argument.name not in function.cpp_no_default_args, False)[
            argument
        ]
        for argument in info.differentiable_arguments
    ]
    return bindings_of(parameters)


@record(
    "name func op derivatives forward_derivatives all_saved_inputs all_saved_outputs available_named_gradients"
    " used_named_gradients args_with_derivatives non_differentiable_arg_names output_differentiability"
    " output_differentiability_conditions"
)
class DifferentiabilityInfo(Record):
    """All that `derivatives.yaml` says of a function; `op` is the class of its node."""

    op: str | None
    name: str
    func: NativeFunction
    args_with_derivatives: Sequence[Binding]
    non_differentiable_arg_names: Sequence[str]
    derivatives: Sequence[Derivative]
    forward_derivatives: Sequence[ForwardDerivative]
    used_named_gradients: set[str]
    available_named_gradients: Sequence[str]
    output_differentiability: list[bool] | None
    output_differentiability_conditions: list[str] | None
    all_saved_outputs: Sequence[SavedAttribute]
    all_saved_inputs: Sequence[SavedAttribute]

    _computed: ClassVar[Computed] = {
        "op": lambda origin: origin.node_name,
        "args_with_derivatives": _differentiated,
        "non_differentiable_arg_names": lambda origin: list(origin.non_differentiable),
        "derivatives": lambda origin: [
            Derivative(
                formula=each.formula,
                original_formula=each.original_formula,
                var_names=each.var_names,
                saved_inputs=tuple(saved_records(each.saved_inputs, origin)),
                saved_outputs=tuple(saved_records(each.saved_outputs, origin)),
                named_gradients=set(each.named_gradients),
            )
            for each in origin.derivatives
        ],
        "forward_derivatives": lambda origin: forward_records(origin.forward_derivatives),
        "used_named_gradients": lambda origin: set(origin.used_gradients),
        "available_named_gradients": lambda origin: list(origin.available_gradients),
        "output_differentiability": lambda origin: (
            None if origin.output_differentiability is None else list(origin.output_differentiability)
        ),
        "output_differentiability_conditions": lambda origin: origin.output_condition and [origin.output_condition],
        "all_saved_outputs": lambda origin: saved_records(origin.saved_outputs, origin),
        "all_saved_inputs": lambda origin: saved_records(origin.saved_inputs, origin),
    }

    @property
    def has_derivatives(self) -> bool:
        """Whether an argument has a gradient."""
        return bool(self.args_with_derivatives)

    def create_view_copy_from_view_derivative(self, g: NativeFunctionsViewGroup) -> DifferentiabilityInfo | None:
        """The derivatives of the copying form of a view; None if there is no such form."""
        if g.view_copy is None:
            return None
        name, _, overload = self.name.partition(".")
        op = None if self.op is None else f"{self.op}_copy"
        # The dot stays without an overload.
        return dataclasses.replace(self, name=f"{name}_copy.{overload}", op=op, func=g.view_copy)


@record("name type cpp_type")
class DifferentiableInput(Record):
    """An argument through which gradients flow."""

    cpp_type: str
    type: Type
    name: str


@record("func info fw_derivatives")
class NativeFunctionWithDifferentiabilityInfo(Record):
    """A function with its derivatives by dispatch key."""

    fw_derivatives: dict[str, Sequence[ForwardDerivative]] | None
    info: dict[str, DifferentiabilityInfo] | None
    func: NativeFunction


@record("name type cpp_type")
class DifferentiableOutput(Record):
    """A result through which gradients flow."""

    cpp_type: str
    type: Type
    name: str


def _model_saved(saved: SavedAttribute, function: ModelFunction) -> ModelSaved:
    scope, name = scope_of(function), role_of(saved.nctype)
    values = {value.name: value.source for value in (*scope.results, *scope.arguments)}
    if saved.expr == name and name in values:
        return ModelSaved(name, saved.expr, SavedKind.VALUE, values[name])
    return ModelSaved(name, saved.expr, _kind_of_fact(model_ctype(saved.nctype.type)), None)


def _kind_of_fact(type: CType) -> SavedKind:
    """A kind of facts that have this C++ type. Raises ValueError if there is none."""
    for kind, fact in FACTS.items():
        if fact is type:
            return kind
    raise ValueError(f"no fact of type `{type.text}` can be saved")


def _model_derivative(derivative: Derivative, f: NativeFunction) -> ModelDerivative:
    function = model_function(f)
    return ModelDerivative(
        derivative.formula,
        derivative.original_formula,
        tuple(derivative.var_names),
        tuple([_model_saved(saved, function) for saved in derivative.saved_inputs]),
        tuple([_model_saved(saved, function) for saved in derivative.saved_outputs]),
        frozenset(derivative.named_gradients),
        start_of_file(f),
    )


def _model_forward(derivatives: Iterable[ForwardDerivative], f: NativeFunction) -> tuple[ModelForward, ...]:
    return tuple(
        [
            ModelForward(
                derivative.formula,
                tuple(derivative.var_names),
                tuple(map(model_type, derivative.var_types)),
                tuple(derivative.required_inputs_fw_grad or ()),
                tuple(derivative.required_inputs_primal or ()),
                derivative.required_original_self_value,
                derivative.is_reusing_outplace_formula,
                start_of_file(f),
            )
            for derivative in derivatives
        ]
    )


def _build_info(info: DifferentiabilityInfo) -> ModelInfo:
    function = model_function(info.func)
    differentiated = {binding.name for binding in info.args_with_derivatives}
    differentiability, conditions = info.output_differentiability, info.output_differentiability_conditions
    return ModelInfo(
        name=info.name,
        function=function,
        node_name=info.op,
        derivatives=tuple([_model_derivative(derivative, info.func) for derivative in info.derivatives]),
        forward_derivatives=_model_forward(info.forward_derivatives, info.func),
        differentiable_arguments=tuple(
            [argument for argument in function.arguments.all if argument.name in differentiated]
        ),
        non_differentiable=tuple(info.non_differentiable_arg_names),
        available_gradients=tuple(info.available_named_gradients),
        output_differentiability=None if differentiability is None else tuple(differentiability),
        output_condition=conditions[0] if conditions else None,
    )


def model_info(info: DifferentiabilityInfo) -> ModelInfo:
    """Opwright's derivatives of a record."""
    return info._made_from(lambda: _build_info(info))


def model_differentiable(fn: NativeFunctionWithDifferentiabilityInfo) -> DifferentiableFunction:
    """Opwright's function with its derivatives of a record."""
    return fn._made_from(
        lambda: DifferentiableFunction(
            model_function(fn.func),
            {key: model_info(info) for key, info in (fn.info or {}).items()},
            {key: _model_forward(listed, fn.func) for key, listed in (fn.fw_derivatives or {}).items()},
        )
    )
