"""Derivatives of functions, from `derivatives.yaml`.

A `Derivative` is a backward formula and a `ForwardDerivative` one for forward mode; both are C++ expressions. A
`DifferentiabilityInfo` holds everything about one function under one dispatch key. A `DifferentiableFunction` is a
function with the infos that it uses.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from functools import cache
from typing import Final

from opwright.model.dispatch_key import devices
from opwright.model.native_function import NativeFunction
from opwright.schema.function import Argument, Return
from opwright.schema.types import Type
from opwright.source.lazy import lazy_pattern
from opwright.source.records import Copyable, NamedTuple, not_fingerprinted
from opwright.source.span import Span

#: The name of the formulas for all dispatch keys without formulas of their own.
DEFAULT_KEY: Final = "Default"
#: The function of formulas that cannot be computed.
NOT_IMPLEMENTED: Final = "not_implemented"

_WORD: Final = lazy_pattern(r"\w+")


@cache
def words_of(formula: str) -> frozenset[str]:
    """Words of a formula.

    >>> sorted(words_of("grad * self.sgn()"))
    ['grad', 'self', 'sgn']
    """
    return frozenset(_WORD.findall(formula))


class SavedKind(enum.Enum):
    """What is saved of an argument or a result: the value itself, or a fact about it."""

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
    """What the forward call saves for the backward one: `other_scalar_type`, read as `other.scalar_type()`.

    For a VALUE, `source` is the argument or return; None stands for the packed tensor options.
    """

    name: str
    expression: str
    kind: SavedKind
    source: Argument | Return | None


class Derivative(NamedTuple):
    """A backward formula for one or more arguments.

    `formula` reads saved attributes, and `original_formula` is as the file has it. `named_gradients` are the gradients
    that it uses by name (`grad_values`).
    """

    formula: str
    original_formula: str
    var_names: tuple[str, ...]
    saved_inputs: tuple[SavedAttribute, ...]
    saved_outputs: tuple[SavedAttribute, ...]
    named_gradients: frozenset[str]
    span: Span

    @property
    def is_not_implemented(self) -> bool:
        """Whether the formula says that the gradient is not implemented."""
        return self.original_formula.startswith(f"{NOT_IMPLEMENTED}(")

    @property
    def words(self) -> frozenset[str]:
        """Words of the formula."""
        return words_of(self.formula)


class ForwardDerivative(NamedTuple):
    """A forward formula for one output, or several at once.

    It needs the tangents of the inputs `tangents` and the values of `primals`. `needs_original_self` says that it reads
    the `self` of an in-place function from before the call, and `from_functional` that the formula of an in-place
    function is that of its functional form.
    """

    formula: str
    var_names: tuple[str, ...]
    var_types: tuple[Type, ...]
    tangents: tuple[str, ...]
    primals: tuple[str, ...]
    needs_original_self: bool
    from_functional: bool
    span: Span

    @property
    def words(self) -> frozenset[str]:
        """Words of the formula."""
        return words_of(self.formula)


class ConstantResult(NamedTuple):
    """A result without a gradient that formulas of a library read: its name there, and its position.

    It may depend on arguments with gradients. A second gradient that took it for a constant would be wrong, so the node
    of the operator gets the gradient of what it keeps, and raises an error with the message. `is_returned` says whether
    callers get it.
    """

    name: str
    position: int
    is_returned: bool
    message: str


@not_fingerprinted(
    _words="they are those of the derivatives",
    saved_inputs="it has what the derivatives save, once",
    saved_outputs="it has what the derivatives save, once",
    used_gradients="it joins those of the derivatives",
)
class DifferentiabilityInfo(Copyable):
    """Derivatives of a function under one dispatch key.

    `name` is the function's name in `derivatives.yaml` and `node_name` that of the autograd node (`MulBackward0`), None
    if nothing is differentiable. `differentiable_arguments` are the arguments that have a backward formula, in the
    order of the C++ signature. `saved_inputs` and `saved_outputs` have each attribute that any formula saves, once.
    `available_gradients` are the names of the gradients of named outputs. `output_differentiability` says whether each
    output is differentiable, None if the entry does not say; `output_condition` is the C++ condition under which the
    only output is. `constant_results` are those of a library without a gradient that formulas read.
    """

    __slots__ = (
        "_words", "available_gradients", "constant_results", "derivatives", "differentiable_arguments",
        "forward_derivatives", "function", "name", "node_name", "non_differentiable", "output_condition",
        "output_differentiability", "saved_inputs", "saved_outputs", "used_gradients",
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
        constant_results: tuple[ConstantResult, ...] = (),
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
        self.constant_results: Final = constant_results
        self._words: frozenset[str] | None = None
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

    def __repr__(self) -> str:
        return f"<derivatives of {self.name} for {self.function.name}>"

    @property
    def words(self) -> frozenset[str]:
        """Words of all backward formulas."""
        if self._words is None:
            # They are kept, since each of perhaps a thousand formulas asks for those of all.
            self._words = frozenset[str]().union(*[derivative.words for derivative in self.derivatives])
        return self._words

    @property
    def is_not_implemented(self) -> bool:
        """Whether all of its formulas say that the gradient is not implemented."""
        return all(derivative.is_not_implemented for derivative in self.derivatives)

    @property
    def left_out(self) -> tuple[Argument, ...]:
        """Tensors that no formula is for, and that nothing calls not differentiable: they may need no gradients."""
        named = {name for derivative in self.derivatives for name in derivative.var_names}.union(
            self.non_differentiable
        )
        return tuple(
            [
                argument
                for argument in self.function.arguments.non_out
                if argument.type.is_tensor_like and argument.name not in named
            ]
        )

    @property
    def has_derivatives(self) -> bool:
        """Whether any argument has a backward formula."""
        return bool(self.differentiable_arguments)

    @property
    def differentiable_results(self) -> tuple[bool, ...]:
        """Whether each result has a gradient: of those that may have one, the first alone if formulas read `grad`."""
        returns = self.function.schema.returns
        stated = self.output_differentiability or (True,) * len(returns)
        own = tuple([flag and result.type.is_tensor_like for flag, result in zip(stated, returns, strict=True)])
        return only_first(own) if self.uses_single_grad else own

    @property
    def uses_retain_variables(self) -> bool:
        """Whether a formula asks if the graph is retained."""
        return "retain_variables" in self.words

    @property
    def uses_single_grad(self) -> bool:
        """Whether a formula uses the only gradient as `grad`."""
        return "grad" in self.words


#: Dispatch key (or `Default`) -> the info for it.
InfoByKey = Mapping[str, DifferentiabilityInfo]


class Derivatives(NamedTuple):
    """Contents of `derivatives.yaml`: the infos by function, in its order, and the dispatch keys that it names.

    The infos made for copying forms of views come last.
    """

    infos: Mapping[NativeFunction, InfoByKey]
    keys: frozenset[str]


class DifferentiableFunction(NamedTuple):
    """A native function with the infos that it uses, which may belong to another function of its operation.

    `forward` are the forward formulas of this function. Those of an in-place function differ from those of its
    functional form. `recorder` is the operator that records calls where there are no formulas, if a library has one.
    """

    function: NativeFunction
    infos: InfoByKey
    forward: Mapping[str, tuple[ForwardDerivative, ...]]
    recorder: str = ""

    @property
    def has_derivatives(self) -> bool:
        """Whether there is a backward formula under any dispatch key."""
        return any(info.has_derivatives for info in self.infos.values())


class MatchedDerivatives(NamedTuple):
    """Functions of a run with their derivatives.

    `infos` are those of the file in its order, and `made` those made for functions over lists (`_foreach_`). `file` is
    what was loaded from the file.
    """

    functions: tuple[DifferentiableFunction, ...]
    infos: tuple[DifferentiabilityInfo, ...]
    made: tuple[DifferentiabilityInfo, ...]
    file: Derivatives

    @property
    def keys(self) -> frozenset[str]:
        """Dispatch keys that the file names."""
        return self.file.keys


NO_DERIVATIVES: Final = MatchedDerivatives((), (), (), Derivatives({}, frozenset()))


def only_first(flags: tuple[bool, ...]) -> tuple[bool, ...]:
    """Flags of which the first one that is true stays so: formulas that read `grad` use the gradient of one output.

    >>> only_first((False, True, True))
    (False, True, False)
    """
    return tuple([flag and True not in flags[:position] for position, flag in enumerate(flags)])


def autograd_keys() -> tuple[str, ...]:
    """Names of the dispatch keys that `dispatch` of an entry may name, `Default` aside."""
    return "AutogradNestedTensor", *(f"Autograd{device.name}" for device in devices())


def node_prefix(name: str) -> str:
    """Prefix of the names of a function's autograd nodes.

    >>> node_prefix("add_"), node_prefix("_thnn_fused_gru_cell"), node_prefix("nll_loss_forward")
    ('AddBackward', 'ThnnFusedGruCellBackward', 'NllLossBackward')
    """
    parts = "".join([part.title() for part in name.split("_")])
    return f"{parts}Backward".replace("ForwardBackward", "Backward")
