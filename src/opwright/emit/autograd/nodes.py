"""Nodes of the backward graph: one class for each info that has a backward formula.

A frozen record, which can be printed, holds all decisions about a class; `functions` and `python_functions` print it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from operator import attrgetter
from typing import Final

from opwright.dialects.derivatives.formulas import gradient_indices
from opwright.dialects.derivatives.kept_results import differentiable_results, kept_results, second_gradient_fault
from opwright.emit.autograd.kernels import has_kernel, view_base
from opwright.emit.autograd.saved import SavedField, saved_field
from opwright.emit.emitter import Job, per_job
from opwright.model.derivatives import Derivative, DifferentiabilityInfo, DifferentiableFunction
from opwright.release.operator_names.autograd import VIEWS
from opwright.release.rules import Rules
from opwright.schema.names import FOREACH_PREFIX
from opwright.schema.types import ListType
from opwright.source.lazy import lazy_pattern
from opwright.source.records import NamedTuple, not_fingerprinted


@per_job
def functions_with_kernels(job: Job) -> Sequence[DifferentiableFunction]:
    """Functions of the run that have a generated kernel, with their derivatives, ordered by C++ name."""
    return [function for function in job.derivatives.functions if has_kernel(function)]


class NodeInput(NamedTuple):
    """An argument of the forward call that the node has a gradient for; a list has one for each tensor."""

    name: str
    is_list: bool


class Step(NamedTuple):
    """One backward formula: the arguments whose gradients it gives, by name and number.

    With `needs_defined` the formula is skipped if no gradient comes in. With `takes_mask` it asks which gradients are
    needed. A formula of a library is skipped if none of the incoming gradients that it reads is defined: `awaited` has
    their numbers, none stand for all. It is None for a formula that is not skipped so.
    """

    formula: str
    arguments: tuple[tuple[str, int], ...]
    needs_defined: bool
    takes_mask: bool
    awaited: tuple[int, ...] | None = None


class Kept(NamedTuple):
    """Results without a gradient that formulas of a library read.

    They are outputs of the node after the `before` that have gradients, each with the message of the error that its
    gradient raises.
    """

    before: int
    messages: tuple[str, ...]


class GraphNode(NamedTuple):
    """Decisions about the class of one node.

    `export` is the macro that exports the class. `bound_name` is the expression for the name that Python knows the
    backward function by; PyTorch's are those of the classes. `gradients` are the names of incoming gradients with their
    numbers, `parameters` the types and names of what the backward function takes after the gradients and the mask.
    """

    name: str
    function: str
    export: str
    bound_name: str
    superclass: str
    over_lists: bool
    inputs: tuple[NodeInput, ...]
    saved: tuple[SavedField, ...]
    gradients: tuple[tuple[str, int], ...]
    steps: tuple[Step, ...]
    keeps_variables: bool
    parameters: tuple[tuple[str, str], ...]
    kept: Kept | None = None

    @property
    def locks(self) -> bool:
        """Whether releasing what is saved needs a lock."""
        return any(field.released for field in self.saved)


_name: Final = attrgetter("name")
_ALL_GRADIENTS: Final = lazy_pattern(r"\bgrads\b")


def node(info: DifferentiabilityInfo, rules: Rules) -> GraphNode:
    """Decisions about the node of an info that has a backward formula. Raises Fault for what cannot be saved."""
    assert info.node_name is not None, "an info with a backward formula has a node"
    library = info.function.library
    inputs = tuple(
        [
            NodeInput(argument.name, isinstance(argument.type, ListType) and argument.type.is_tensor_like)
            for argument in info.differentiable_arguments
        ]
    )
    saved = [saved_field(attribute, False, info, rules) for attribute in sorted(info.saved_inputs, key=_name)]
    saved += [saved_field(output, True, info, rules) for output in sorted(info.saved_outputs, key=_name)]
    keeps_variables = info.uses_retain_variables
    parameters = [("size_t", f"{node_input.name}_size_") for node_input in inputs if node_input.is_list]
    parameters += [(field.parameter, field.name) for field in saved]
    if keeps_variables:
        parameters.append(("bool", "retain_variables"))
    return GraphNode(
        name=info.node_name,
        function=info.name,
        export=library.export,
        bound_name="name()" if library.in_libtorch else f'"{library.namespace}_{info.node_name}"',
        # Views use `as_strided`, whose backward function cannot be traced.
        superclass="Node" if _is_view(info, rules) else "TraceableFunction",
        over_lists=info.name.startswith(FOREACH_PREFIX),
        inputs=inputs,
        saved=tuple(saved),
        gradients=_gradients(info),
        steps=_steps(info),
        keeps_variables=keeps_variables,
        parameters=tuple(parameters),
        kept=_kept(info),
    )


def _kept(info: DifferentiabilityInfo) -> Kept | None:
    messages = [second_gradient_fault(info, result.name) for result in kept_results(info)]
    if not messages:
        return None
    return Kept(sum(differentiable_results(info)), tuple(messages))


def _is_view(info: DifferentiabilityInfo, rules: Rules) -> bool:
    """Whether the node is that of a view; PyTorch's are known by name."""
    if info.function.library.known_by_name:
        return info.name in VIEWS.in_release(rules)
    return view_base(info.function) is not None


def _gradients(info: DifferentiabilityInfo) -> tuple[tuple[str, int], ...]:
    if info.uses_single_grad:
        return (("grad", 0),)
    return tuple([(name, info.available_gradients.index(name)) for name in sorted(info.used_gradients)])


def _steps(info: DifferentiabilityInfo) -> tuple[Step, ...]:
    numbers = {argument.name: number for number, argument in enumerate(info.differentiable_arguments)}
    tensors = {
        argument.name for argument in info.differentiable_arguments if argument.type.text in ("Tensor", "Tensor?")
    }
    steps = [_step(derivative, numbers, tensors) for derivative in info.derivatives]
    if not info.function.library.takes_any_schema or info.name.startswith(FOREACH_PREFIX):
        return tuple(steps)
    read = [_read_gradients(derivative, info) for derivative in info.derivatives]
    return tuple(
        [step._replace(needs_defined=False, awaited=numbers) for step, numbers in zip(steps, read, strict=True)]
    )


def _step(derivative: Derivative, numbers: dict[str, int], tensors: set[str]) -> Step:
    formula, names = derivative.formula, derivative.var_names
    is_single = len(names) == 1
    return Step(
        formula,
        tuple([(name, numbers[name]) for name in names]),
        needs_defined=is_single and names[0] in tensors and "not_implemented" not in formula,
        takes_mask=not is_single and "grad_input_mask" in formula,
    )


def _read_gradients(derivative: Derivative, info: DifferentiabilityInfo) -> tuple[int, ...] | None:
    """Numbers of the gradients that a formula reads, empty if it takes the list of all; None if it reads none."""
    if info.uses_single_grad and "grad" in derivative.words:
        return (0,)
    if "grads" in derivative.words:
        numbers = gradient_indices(derivative.formula)
        return tuple(numbers) if len(numbers) == len(_ALL_GRADIENTS.findall(derivative.formula)) else ()
    return tuple([info.available_gradients.index(name) for name in sorted(derivative.named_gradients)]) or None


@not_fingerprinted(_rules="every fragment reads the rules from its context, which has a fingerprint of its own")
class NodeUnit:
    """Unit of one node: its info, from which the node follows."""

    def __init__(self, info: DifferentiabilityInfo, rules: Rules) -> None:
        self.info: Final = info
        self._rules: Final = rules

    @cached_property
    def node(self) -> GraphNode:
        """Node. Raises Fault for what cannot be saved."""
        return node(self.info, self._rules)


def _units(infos: Sequence[DifferentiabilityInfo], rules: Rules) -> list[NodeUnit]:
    return [NodeUnit(info, rules) for info in infos if info.has_derivatives]


@per_job
def nodes_of_file(job: Job) -> list[NodeUnit]:
    """Nodes of the infos in `derivatives.yaml`, in its order."""
    return _units(job.derivatives.infos, job.rules)


@per_job
def all_nodes(job: Job) -> list[NodeUnit]:
    """All nodes, those of infos that were made for functions over lists last."""
    return nodes_of_file(job) + _units(job.derivatives.made, job.rules)
