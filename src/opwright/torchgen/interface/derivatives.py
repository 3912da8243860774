"""Derivatives of functions, as records."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from opwright.torchgen.interface.cpp_types import Binding, NamedCType
from opwright.torchgen.interface.functions import NativeFunction, NativeFunctionsViewGroup
from opwright.torchgen.interface.records import Record, record
from opwright.torchgen.interface.types import Type


@record("nctype expr")
class SavedAttribute(Record):
    """A value that the node of a function keeps from the forward call."""

    expr: str
    nctype: NamedCType


@record("formula original_formula var_names saved_inputs saved_outputs named_gradients")
class Derivative(Record):
    """The gradient of some arguments."""

    var_names: tuple[str, ...]
    formula: str
    original_formula: str
    named_gradients: set[str]
    saved_inputs: tuple[SavedAttribute, ...]
    saved_outputs: tuple[SavedAttribute, ...]

    def __hash__(self) -> int:
        return hash((self.formula, self.var_names))


@record(
    "formula var_names var_types required_inputs_fw_grad required_inputs_primal required_original_self_value"
    " is_reusing_outplace_formula"
)
class ForwardDerivative(Record):
    """The forward gradient of some results."""

    is_reusing_outplace_formula: bool
    required_original_self_value: bool
    required_inputs_primal: tuple[str, ...] | None
    required_inputs_fw_grad: tuple[str, ...] | None
    var_types: tuple[Type, ...]
    var_names: tuple[str, ...]
    formula: str


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

    def __hash__(self) -> int:
        return hash((self.name, self.op))

    @property
    def has_derivatives(self) -> bool:
        """Whether an argument has a gradient."""
        return bool(self.args_with_derivatives)

    def create_view_copy_from_view_derivative(self, g: NativeFunctionsViewGroup) -> DifferentiabilityInfo | None:
        """The same for the copying form of a view; None if there is none."""
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

    def __hash__(self) -> int:
        return hash(self.func)


@record("name type cpp_type")
class DifferentiableOutput(Record):
    """A result through which gradients flow."""

    cpp_type: str
    type: Type
    name: str
