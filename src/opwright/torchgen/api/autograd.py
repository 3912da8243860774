"""Derivatives of functions: the names of `torchgen.api.autograd`."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Sequence

from opwright.torchgen.api.cpp import return_names, return_type
from opwright.torchgen.interface.cpp_types import Binding, NamedCType
from opwright.torchgen.interface.functions import NativeFunction, NativeFunctionsViewGroup
from opwright.torchgen.interface.records import Record, record
from opwright.torchgen.interface.types import Type
from opwright.torchgen.utils import IDENT_REGEX


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
        name, dot, overload = self.name.partition(".")
        op = None if self.op is None else f"{self.op}_copy"
        return dataclasses.replace(self, name=f"{name}_copy{dot}{overload}", op=op, func=g.view_copy)


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


def uses_ident(info: DifferentiabilityInfo | None, ident: str) -> bool:
    """Whether a gradient formula uses an identifier."""
    pattern = re.compile(IDENT_REGEX.format(ident))
    return info is not None and any(pattern.search(derivative.formula) for derivative in info.derivatives)


def uses_retain_variables(info: DifferentiabilityInfo | None) -> bool:
    """Whether a gradient formula asks whether the graph is kept."""
    return uses_ident(info, "retain_variables")


def uses_single_grad(info: DifferentiabilityInfo | None) -> bool:
    """Whether a gradient formula uses the gradient of the only result."""
    return uses_ident(info, "grad")


def is_differentiable(name: str, type: Type, info: DifferentiabilityInfo | None) -> bool:
    """Whether gradients flow through an argument or a result."""
    return type.is_tensor_like() and (info is None or name not in info.non_differentiable_arg_names)


def dispatch_strategy(fn: NativeFunctionWithDifferentiabilityInfo) -> str:
    """How autograd calls a function: `use_derived` if it has kernels or gradients of its own, else `use_type`."""
    has_gradients = fn.info is not None and any(info.has_derivatives for info in fn.info.values())
    return "use_derived" if fn.func.is_abstract or has_gradients else "use_type"


def is_foreach_func(f: NativeFunction) -> bool:
    """Whether a function applies another one to each tensor of a list."""
    return f.func.name.name.base.startswith("_foreach_")


def gen_differentiable_outputs(
    fn: NativeFunctionWithDifferentiabilityInfo, key: str = "Default"
) -> list[DifferentiableOutput]:
    """The results through which gradients flow. Raises RuntimeError if the file says it of another number of them."""
    info = fn.info[key] if fn.info else None
    pairs = list(zip(return_names(fn.func), fn.func.func.returns, strict=True))
    chosen: Sequence[bool] = [is_differentiable(name, result.type, info) for name, result in pairs]
    if info is not None and info.output_differentiability is not None:
        chosen = info.output_differentiability
    if len(chosen) != len(pairs):
        message = f"`output_differentiability` of `{fn.func.func.name}` has {len(chosen)} items"
        raise RuntimeError(f"{message} for {len(pairs)} results")
    return [
        DifferentiableOutput(cpp_type=return_type(result, symint=True).cpp_type(), type=result.type, name=name)
        for (name, result), is_chosen in zip(pairs, chosen, strict=True)
        if is_chosen
    ]
