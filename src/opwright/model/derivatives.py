"""Derivatives: what `derivatives.yaml` says of functions, as data.

A `Derivative` is a backward formula, a `ForwardDerivative` one for forward mode; both are C++ expressions. All that
holds for one function under one dispatch key is its `DifferentiabilityInfo`; which function takes which info is a
`DifferentiableFunction`.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from typing import Final, NamedTuple

from opwright.model.dispatch_key import devices
from opwright.model.native_function import NativeFunction
from opwright.schema.function import Argument, Return
from opwright.schema.types import Type
from opwright.source.span import Span

#: The name under which a formula stands that holds for every dispatch key without one of its own.
DEFAULT_KEY: Final = "Default"


class SavedKind(enum.Enum):
    """What of an argument or result is saved: the value itself, or a fact about it."""

    VALUE = enum.auto()
    SIZES = enum.auto()
    OPTIONAL_SIZES = enum.auto()
    BLOCK_SIZE = enum.auto()
    OPTIONS = enum.auto()
    INFO = enum.auto()
    SIZE = enum.auto()
    NUMEL = enum.auto()
    SYM_NUMEL = enum.auto()
    LIST_SIZES = enum.auto()
    LIST_SYM_SIZES = enum.auto()
    LIST_SCALAR_TYPES = enum.auto()
    GEOMETRY = enum.auto()
    SCALAR_TYPE = enum.auto()
    DIM = enum.auto()
    STRIDES = enum.auto()
    LAYOUT = enum.auto()
    CONJUGATE = enum.auto()


class SavedAttribute(NamedTuple):
    """What the forward call keeps for the backward one: `other_scalar_type`, read as `other.scalar_type()`.

    `source` is the argument or return that a value of kind VALUE is; None stands for the packed tensor options.
    """

    name: str
    expression: str
    kind: SavedKind
    source: Argument | Return | None


class Derivative(NamedTuple):
    """A backward formula for one or more arguments.

    `formula` reads saved attributes in place of what `original_formula` says of the arguments; `words` are the
    words of `formula`. `named_gradients` are the gradients that it takes by name (`grad_values`).
    """

    formula: str
    original_formula: str
    var_names: tuple[str, ...]
    saved_inputs: tuple[SavedAttribute, ...]
    saved_outputs: tuple[SavedAttribute, ...]
    named_gradients: frozenset[str]
    words: frozenset[str]
    span: Span


class ForwardDerivative(NamedTuple):
    """A forward formula for one output, or several at once.

    `tangents` and `primals` are the inputs of which it needs the tangent and the value. `needs_original_self` tells
    that it reads what an in-place function's `self` was before the call, `from_functional` that an in-place function
    borrows the formula of its functional form.
    """

    formula: str
    var_names: tuple[str, ...]
    var_types: tuple[Type, ...]
    tangents: tuple[str, ...]
    primals: tuple[str, ...]
    needs_original_self: bool
    from_functional: bool
    words: frozenset[str]
    span: Span


class DifferentiabilityInfo:
    """All that is known of the derivatives of a function under one dispatch key.

    `name` is the function's name in `derivatives.yaml`; `node_name` that of the autograd node (`MulBackward0`), None
    where nothing is differentiable. `differentiable_arguments` are the arguments that have a backward formula, in
    the order of the C++ signature. `saved_inputs` and `saved_outputs` hold what any formula saves, once each.
    `available_gradients` are the names by which formulas can take the gradients of named outputs.
    `output_differentiability` says of each output whether it is differentiable, None where nothing is said;
    `output_condition` is the C++ condition under which a single output is.
    """

    __slots__ = (
        "available_gradients", "derivatives", "differentiable_arguments", "forward_derivatives", "function", "name",
        "node_name", "non_differentiable", "output_condition", "output_differentiability", "saved_inputs",
        "saved_outputs", "used_gradients", "words",
    )  # fmt: skip

    def __init__(
        self,
        *,
        name: str,
        function: NativeFunction,
        node_name: str | None,
        derivatives: tuple[Derivative, ...],
        forward_derivatives: tuple[ForwardDerivative, ...],
        differentiable_arguments: tuple[Argument, ...],
        non_differentiable: tuple[str, ...] = (),
        available_gradients: tuple[str, ...] = (),
        output_differentiability: tuple[bool, ...] | None = None,
        output_condition: str | None = None,
    ) -> None:
        self.name: Final = name
        self.function: Final = function
        self.node_name: Final = node_name
        self.derivatives: Final = derivatives
        self.forward_derivatives: Final = forward_derivatives
        self.differentiable_arguments: Final = differentiable_arguments
        self.non_differentiable: Final = non_differentiable
        self.available_gradients: Final = available_gradients
        self.output_differentiability: Final = output_differentiability
        self.output_condition: Final = output_condition
        inputs: dict[str, SavedAttribute] = {}
        outputs: dict[str, SavedAttribute] = {}
        for derivative in derivatives:
            for saved in derivative.saved_inputs:
                inputs.setdefault(saved.name, saved)
            for saved in derivative.saved_outputs:
                outputs.setdefault(saved.name, saved)
        self.saved_inputs: Final = tuple(inputs.values())
        self.saved_outputs: Final = tuple(outputs.values())
        self.used_gradients: Final = frozenset().union(*[derivative.named_gradients for derivative in derivatives])
        #: The words of all backward formulas.
        self.words: Final[frozenset[str]] = frozenset().union(*[derivative.words for derivative in derivatives])

    def __repr__(self) -> str:
        return f"<derivatives of {self.name} for {self.function.name}>"

    @property
    def has_derivatives(self) -> bool:
        """Whether any argument has a backward formula."""
        return bool(self.differentiable_arguments)

    @property
    def uses_retain_variables(self) -> bool:
        """Whether a formula asks if the graph is kept."""
        return "retain_variables" in self.words

    @property
    def uses_single_grad(self) -> bool:
        """Whether a formula takes the only gradient as `grad`."""
        return "grad" in self.words

    def for_function(self, name: str, function: NativeFunction, node_name: str | None) -> DifferentiabilityInfo:
        """The same derivatives for another function."""
        return DifferentiabilityInfo(
            name=name,
            function=function,
            node_name=node_name,
            derivatives=self.derivatives,
            forward_derivatives=self.forward_derivatives,
            differentiable_arguments=self.differentiable_arguments,
            non_differentiable=self.non_differentiable,
            available_gradients=self.available_gradients,
            output_differentiability=self.output_differentiability,
            output_condition=self.output_condition,
        )


#: Dispatch key (or `Default`) -> what holds under it.
InfoByKey = Mapping[str, DifferentiabilityInfo]


class Derivatives(NamedTuple):
    """All of `derivatives.yaml`: the infos by function, in its order, and the dispatch keys that it names.

    The derived infos of copying views stand behind those of the file.
    """

    infos: Mapping[NativeFunction, InfoByKey]
    keys: frozenset[str]


class DifferentiableFunction(NamedTuple):
    """A native function with the infos that hold for it, which may be those of another function of its operation.

    `forward` are the forward formulas as they are for this very function; for an in-place function they differ from
    those of its functional form.
    """

    function: NativeFunction
    infos: InfoByKey
    forward: Mapping[str, tuple[ForwardDerivative, ...]]

    @property
    def has_derivatives(self) -> bool:
        """Whether there is a backward formula under any dispatch key."""
        return any(info.has_derivatives for info in self.infos.values())


class MatchedDerivatives(NamedTuple):
    """The functions of a run with their derivatives.

    `infos` are those of the file in its order, `made` those made for functions over lists of tensors (`_foreach_`);
    `keys` are the dispatch keys that the file names.
    """

    functions: tuple[DifferentiableFunction, ...]
    infos: tuple[DifferentiabilityInfo, ...]
    made: tuple[DifferentiabilityInfo, ...]
    keys: frozenset[str]


NO_DERIVATIVES: Final = MatchedDerivatives((), (), (), frozenset())


def autograd_keys() -> tuple[str, ...]:
    """The names of the dispatch keys that `dispatch` of an entry may name, `Default` aside."""
    return "AutogradNestedTensor", *(f"Autograd{device.name}" for device in devices())
