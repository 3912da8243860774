"""Decisions about the wrappers of `VariableType`, the kernels that record gradients.

A wrapper calls an operator below autograd. Around the call it makes the node of the backward graph, saves what the
backward formulas need, and works out tangents. Everything that this depends on is in one frozen record, which can be
printed; other modules print it.
"""

from __future__ import annotations

import enum
from collections.abc import Sequence

from opwright.convention import public_api
from opwright.convention.dispatcher import returned_arguments
from opwright.emit.autograd.kernels import changes_arguments, counted_arguments, kernel_name, view_base
from opwright.model.derivatives import (
    DEFAULT_KEY,
    ConstantResult,
    Derivative,
    DifferentiabilityInfo,
    DifferentiableFunction,
    ForwardDerivative,
)
from opwright.model.native_function import NativeFunction
from opwright.release.operator_names.autograd import FOREACH_WITHOUT_DERIVATIVES, NEVER_DIFFERENTIATED
from opwright.release.rules import Rules
from opwright.schema.function import Argument, Return, SchemaKind
from opwright.schema.types import ListType, Type
from opwright.source.codes import (
    FORMULA_IGNORED,
    LIST_WITHOUT_DERIVATIVES,
    NO_TANGENTS,
    OUTPUTS_DIFFER,
    TANGENTS_DIFFER,
    UNDIFFERENTIABLE_ARGUMENT,
)
from opwright.source.diagnostic import Fault
from opwright.source.records import NamedTuple
from opwright.source.span import Span


class Forward(enum.Enum):
    """How a wrapper handles tangents."""

    NOTHING = enum.auto()
    FORMULAS = enum.auto()
    DECOMPOSED = enum.auto()
    """The operator is decomposed, so the operators that it is made of compute the tangents. PyTorch's can be."""
    REFUSED = enum.auto()


class Input(NamedTuple):
    """A differentiable input.

    `name` is what formulas call it and `variable` the wrapper's parameter, which differ for an in-place function over
    lists: it takes the formulas of the function that it repeats. `type` is the type that formulas see, `is_list` tells
    that it is a list of tensors for them, and `item` is the expression for the value at hand: of a list over which the
    wrapper loops, the one with index `i`.
    """

    name: str
    variable: str
    type: Type
    is_list: bool
    item: str


class Output(NamedTuple):
    """A differentiable output: its variable, and the return behind it."""

    name: str
    result: Return


class Wrapper(NamedTuple):
    """Decisions about the wrapper of one function under one dispatch key.

    `inputs` are the differentiable inputs, `differentiated` those that gradients are worked out for; `outputs` the
    differentiable outputs. `written` are the arguments that an operator of a library without derivatives writes to,
    besides its outputs. `repeated` maps the names that formulas use to the arguments of an in-place function over
    lists, empty for other functions. `kept` are results without a gradient that formulas read. `records` tells that
    there is a gradient to record; `info` has its formulas, or is None, and the node then raises when it is asked for a
    gradient.
    """

    function: NativeFunction
    key: str
    name: str
    info: DifferentiabilityInfo | None
    inputs: tuple[Input, ...]
    differentiated: tuple[Input, ...]
    outputs: tuple[Output, ...]
    written: tuple[str, ...]
    repeated: dict[str, Argument]
    records: bool
    forward: Forward
    forward_derivatives: tuple[ForwardDerivative, ...]
    inplace: bool
    over_lists: bool
    kept: tuple[ConstantResult, ...] = ()
    recorder: str = ""

    @property
    def loops(self) -> bool:
        """Whether there is a node for each item: in-place functions over lists."""
        return self.inplace and self.over_lists

    @property
    def has_formulas(self) -> bool:
        """Whether there are backward formulas."""
        return self.info is not None and self.info.has_derivatives

    @property
    def node(self) -> str:
        """Class of the node."""
        if self.function.kind is SchemaKind.out:
            return "Node"
        if self.info is not None and self.info.node_name is not None:
            return self.info.node_name
        return "NotImplemented"

    def rebases(self, rules: Rules) -> bool:
        """Whether the operator changes the history of an argument, rather than starting one for its result."""
        return changes_arguments(self.function) and view_base(self.function, rules) is None

    @property
    def accumulated(self) -> dict[str, str]:
        """Outputs of an operator of a library that are arguments which it writes to: the names of both."""
        function = self.function
        if not function.library.takes_any_schema or self.info is None or changes_arguments(function):
            return {}
        written = {argument.name for argument in function.arguments.all if argument.is_write}
        names = zip(public_api.return_names(function), returned_arguments(function.schema), strict=True)
        return {result: argument for result, argument in names if argument is not None and argument in written}

    @property
    def condition(self) -> str:
        """The C++ condition under which the output is differentiable, else empty."""
        return (self.info.output_condition if self.info is not None else None) or ""


def item_of(argument: Argument) -> str:
    """Item of an argument of a wrapper that loops over lists; other arguments are the same for all items."""
    return f"{argument.name}[i]" if isinstance(argument.type, ListType) else argument.name


def wrapper(differentiable_function: DifferentiableFunction, key: str) -> Wrapper:
    """Decisions for a function under a dispatch key. Raises Fault where its derivatives do not fit it."""
    function = differentiable_function.function
    info = differentiable_function.infos.get(key)
    inplace = function.kind is SchemaKind.inplace
    over_lists = function.name.is_foreach
    repeated = _repeated_arguments(function, info) if inplace and over_lists else {}
    inputs = _inputs(function, info, repeated, over_lists)
    outputs = differentiable_outputs(function, info)
    public_name = public_api.name(function.schema)
    constants = NEVER_DIFFERENTIATED.in_any_release if function.library.known_by_name else frozenset()
    undifferentiated = function.root_name in constants or public_name in constants
    written = written_arguments(differentiable_function)
    records = bool(inputs) and not undifferentiated and (bool(outputs or written) or (inplace and over_lists))
    forward_derivatives = differentiable_function.forward.get(key, ())
    decisions = Wrapper(
        function=function,
        key=key,
        name=wrapper_name(function, key),
        info=info,
        inputs=inputs,
        differentiated=_differentiated_inputs(inputs, info),
        outputs=outputs,
        written=written,
        repeated=repeated,
        records=records,
        forward=_forward(function, records, forward_derivatives),
        forward_derivatives=forward_derivatives,
        inplace=inplace,
        over_lists=over_lists,
        kept=info.constant_results if records and info is not None and info.function is function else (),
        recorder=differentiable_function.recorder,
    )
    _check_derivatives(decisions)
    return decisions


def wrapper_name(function: NativeFunction, key: str) -> str:
    """The C++ name of the wrapper of a function under a dispatch key."""
    return kernel_name(function) if key == DEFAULT_KEY else f"{kernel_name(function)}_{key}"


def written_arguments(differentiable_function: DifferentiableFunction) -> tuple[str, ...]:
    """Arguments that an operator writes to besides its outputs, if it is of a library and has no derivatives."""
    function = differentiable_function.function
    if not function.library.takes_any_schema or differentiable_function.infos:
        return ()
    outputs = public_api.return_names(function) if changes_arguments(function) else ()
    return tuple([name for name in counted_arguments(function) if name not in outputs])


def is_differentiable(name: str, type: Type, info: DifferentiabilityInfo | None) -> bool:
    """Whether a value carries gradients: a tensor or a list of tensors that the info does not exclude."""
    return type.is_tensor_like and (info is None or name not in info.non_differentiable)


def differentiable_outputs(function: NativeFunction, info: DifferentiabilityInfo | None) -> tuple[Output, ...]:
    """Outputs that carry gradients. Raises Fault where the info speaks of another number of outputs."""
    outputs = list(map(Output, public_api.return_names(function), function.schema.returns))
    declared = None if info is None else info.output_differentiability
    if declared is not None and info is not None:
        if len(declared) != len(outputs) or (function.name.inplace and False in declared):
            message = f"`output_differentiability` of `{info.name}` does not fit `{function.name}`, which takes it over"
            raise Fault.at(OUTPUTS_DIFFER, message, _formula_span(info, function))
        return tuple([output for output, is_said in zip(outputs, declared, strict=True) if is_said])
    chosen = [output for output in outputs if is_differentiable(output.name, output.result.type, info)]
    return tuple(chosen[:1] if info is not None and info.uses_single_grad else chosen)


def _repeated_arguments(function: NativeFunction, info: DifferentiabilityInfo | None) -> dict[str, Argument]:
    """Arguments of an in-place function over lists by the names of those of the function that it repeats."""
    if info is None:
        if not function.library.known_by_name or function.name.text not in FOREACH_WITHOUT_DERIVATIVES.in_any_release:
            message = f"`{function.name}` has no derivatives to take over from the function that it repeats"
            raise Fault.at(LIST_WITHOUT_DERIVATIVES, message, function.entry)
        return {}
    repeated: dict[str, Argument] = {}
    for mine, theirs in zip(function.arguments.non_out, info.function.arguments.non_out, strict=False):
        if theirs.type is not (mine.type.elem if isinstance(mine.type, ListType) else mine.type):
            message = f"`{mine}` of `{function.name}` does not stand for `{theirs}` of `{info.function.name}`"
            raise Fault.at(LIST_WITHOUT_DERIVATIVES, message, function.entry)
        repeated[theirs.name] = mine
    return repeated


def _inputs(
    function: NativeFunction, info: DifferentiabilityInfo | None, repeated: dict[str, Argument], over_lists: bool
) -> tuple[Input, ...]:
    arguments = function.arguments
    own = theirs = arguments.positional + arguments.pre_options + arguments.post_options
    if repeated and info is not None:
        own, theirs = arguments.non_out, info.function.arguments.non_out
    return tuple(
        [
            Input(
                argument.name,
                mine.name,
                argument.type,
                argument.type.list_like is not None,
                f"{mine.name}[i]" if over_lists and mine.type.list_like is not None else mine.name,
            )
            for mine, argument in zip(own, theirs, strict=False)
            if is_differentiable(argument.name, argument.type, info)
        ]
    )


def _differentiated_inputs(inputs: tuple[Input, ...], info: DifferentiabilityInfo | None) -> tuple[Input, ...]:
    if info is None or not info.has_derivatives:
        return inputs
    names = {name for derivative in info.derivatives for name in derivative.var_names}
    differentiated = tuple([argument for argument in inputs if argument.name in names])
    if len(differentiated) != len(names):
        missing = min(names - {argument.name for argument in differentiated})
        span = next(derivative.span for derivative in info.derivatives if missing in derivative.var_names)
        message = f"`{missing}` of `{info.name}` has a formula, but is no tensor that carries gradients"
        raise Fault.at(UNDIFFERENTIABLE_ARGUMENT, message, span)
    return differentiated


def _forward(function: NativeFunction, records: bool, derivatives: Sequence[ForwardDerivative]) -> Forward:
    if function.kind is SchemaKind.out:
        return Forward.REFUSED
    if not records:
        return Forward.NOTHING
    if derivatives:
        return Forward.FORMULAS
    if function.schema.returns and not changes_arguments(function) and function.library.in_libtorch:
        return Forward.DECOMPOSED
    return Forward.REFUSED


def _check_derivatives(wrapper: Wrapper) -> None:
    """Raises Fault if the wrapper would not use its derivatives, or forward formulas do not fit its outputs."""
    function, info, formulas = wrapper.function, wrapper.info, wrapper.forward_derivatives
    if info is None:
        return
    if info.has_derivatives and not wrapper.records and function.schema.returns:
        message = f"the derivatives of `{function.name}` would be ignored"
        raise Fault.at(FORMULA_IGNORED, message, _formula_span(info, function))
    count, named = len(wrapper.outputs), sum([len(derivative.var_names) for derivative in formulas])
    if wrapper.records and formulas and not wrapper.repeated and named != count:
        message = f"`{function.name}` has {count} differentiable outputs, but forward formulas for {named}"
        raise Fault.at(TANGENTS_DIFFER, message, formulas[0].span)


def check_tangents(wrapper: Wrapper, derivative: ForwardDerivative) -> None:
    """Raises Fault for a forward formula without tangents, save for a function of a single list, which looks itself."""
    if not derivative.tangents and not (len(wrapper.inputs) == 1 and wrapper.inputs[0].is_list):
        message = f"the forward formula of `{wrapper.function.name}` uses no tangent of an input"
        raise Fault.at(NO_TANGENTS, message, derivative.span)


def _formula_span(info: DifferentiabilityInfo, function: NativeFunction) -> Span:
    formulas: tuple[Derivative | ForwardDerivative, ...] = (*info.derivatives, *info.forward_derivatives)
    return formulas[0].span if formulas else function.entry
