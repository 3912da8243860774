"""Nodes of the backward graph: one class for each info that has a backward formula.

`functions` and `python_functions` print them.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from operator import attrgetter
from typing import Final

from opwright.dialects.derivatives.formulas import gradient_indices
from opwright.emit.autograd.kernels import has_kernel, view_base
from opwright.emit.autograd.saved import SavedField, saved_field
from opwright.emit.emitter import Job, per_job
from opwright.model.derivatives import Derivative, DifferentiabilityInfo, DifferentiableFunction
from opwright.release.operator_names.autograd import VIEWS
from opwright.release.rules import Rules
from opwright.schema.function import Argument
from opwright.schema.names import FOREACH_PREFIX
from opwright.schema.types import ListType
from opwright.source.lazy import lazy_pattern
from opwright.source.records import NamedTuple, not_fingerprinted


@per_job
def functions_with_kernels(job: Job) -> Sequence[DifferentiableFunction]:
    """Functions of the run that have a generated kernel, with their derivatives, ordered by C++ name."""
    return [function for function in job.derivatives.functions if has_kernel(function)]


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


_name: Final = attrgetter("name")
_ALL_GRADIENTS: Final = lazy_pattern(r"\bgrads\b")


@not_fingerprinted(_rules="every fragment reads the rules from its context, which has a fingerprint of its own")
class GraphNode:
    """Class of one node: an info that has a backward formula, and what follows from it."""

    def __init__(self, info: DifferentiabilityInfo, rules: Rules) -> None:
        self.info: Final = info
        self._rules: Final = rules

    @property
    def name(self) -> str:
        """Name of the class."""
        assert self.info.node_name is not None, "an info with a backward formula has a node"
        return self.info.node_name

    @property
    def bound_name(self) -> str:
        """Expression for the name that Python knows the backward function by; PyTorch's are those of the classes."""
        library = self.info.function.library
        return "name()" if library.in_libtorch else f'"{library.namespace}_{self.name}"'

    @property
    def superclass(self) -> str:
        """Class that it derives from. Views use `as_strided`, whose backward function cannot be traced."""
        function = self.info.function
        # PyTorch's views are known by the names of their infos.
        views = VIEWS.in_release(self._rules)
        is_view = self.info.name in views if function.library.known_by_name else view_base(function, self._rules)
        return "Node" if is_view else "TraceableFunction"

    @property
    def over_lists(self) -> bool:
        """Whether the operator works on lists, item by item."""
        return self.info.name.startswith(FOREACH_PREFIX)

    @property
    def inputs(self) -> tuple[Argument, ...]:
        """Arguments of the forward call that the node has gradients for; a list has one for each tensor."""
        return self.info.differentiable_arguments

    @cached_property
    def lists(self) -> list[str]:
        """Names of the inputs that are lists of tensors."""
        return [
            argument.name
            for argument in self.inputs
            if isinstance(argument.type, ListType) and argument.type.is_tensor_like
        ]

    @cached_property
    def saved(self) -> tuple[SavedField, ...]:
        """What it saves of the forward call. Raises Fault for what cannot be saved."""
        attributes = [(saved, False) for saved in sorted(self.info.saved_inputs, key=_name)]
        attributes += [(saved, True) for saved in sorted(self.info.saved_outputs, key=_name)]
        return tuple([saved_field(saved, is_output, self.info, self._rules) for saved, is_output in attributes])

    @property
    def locks(self) -> bool:
        """Whether releasing what is saved needs a lock."""
        return any(field.released for field in self.saved)

    @property
    def gradients(self) -> list[tuple[str, int]]:
        """Names of the incoming gradients that formulas read, with their numbers."""
        if self.info.uses_single_grad:
            return [("grad", 0)]
        return [(name, self.info.available_gradients.index(name)) for name in sorted(self.info.used_gradients)]

    @cached_property
    def steps(self) -> tuple[Step, ...]:
        """Backward formulas."""
        return _steps(self.info)

    @cached_property
    def parameters(self) -> list[tuple[str, str]]:
        """Types and names of what the backward function takes after the gradients and the mask."""
        parameters = [("size_t", f"{name}_size_") for name in self.lists]
        parameters += [(field.parameter, field.name) for field in self.saved]
        return [*parameters, ("bool", "retain_variables")] if self.info.uses_retain_variables else parameters


def _steps(info: DifferentiabilityInfo) -> tuple[Step, ...]:
    inputs = info.differentiable_arguments
    numbers = {argument.name: number for number, argument in enumerate(inputs)}
    tensors = {argument.name for argument in inputs if argument.type.text in ("Tensor", "Tensor?")}
    awaits = info.function.library.takes_any_schema and not info.name.startswith(FOREACH_PREFIX)
    steps = []
    for derivative in info.derivatives:
        formula, names = derivative.formula, derivative.var_names
        is_single = len(names) == 1
        step = Step(
            formula,
            tuple([(name, numbers[name]) for name in names]),
            needs_defined=is_single and not awaits and names[0] in tensors and "not_implemented" not in formula,
            takes_mask=not is_single and "grad_input_mask" in formula,
            awaited=_read_gradients(derivative, info) if awaits else None,
        )
        steps.append(step)
    return tuple(steps)


def _read_gradients(derivative: Derivative, info: DifferentiabilityInfo) -> tuple[int, ...] | None:
    """Numbers of the gradients that a formula reads, empty if it takes the list of all; None if it reads none."""
    if info.uses_single_grad and "grad" in derivative.words:
        return (0,)
    if "grads" in derivative.words:
        numbers = gradient_indices(derivative.formula)
        return tuple(numbers) if len(numbers) == len(_ALL_GRADIENTS.findall(derivative.formula)) else ()
    return tuple([info.available_gradients.index(name) for name in sorted(derivative.named_gradients)]) or None


def _units(infos: Sequence[DifferentiabilityInfo], rules: Rules) -> list[GraphNode]:
    return [GraphNode(info, rules) for info in infos if info.has_derivatives]


@per_job
def nodes_of_file(job: Job) -> list[GraphNode]:
    """Nodes of the infos in `derivatives.yaml`, in its order."""
    return _units(job.derivatives.infos, job.rules)


@per_job
def all_nodes(job: Job) -> list[GraphNode]:
    """All nodes, those of infos that were made for functions over lists last."""
    return nodes_of_file(job) + _units(job.derivatives.made, job.rules)
