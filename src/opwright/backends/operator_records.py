"""What a coverage report says, a record for each operator, and which operators a user asks for."""

from __future__ import annotations

import enum
from fnmatch import fnmatchcase
from typing import Final

from opwright.model.native_function import NativeFunction
from opwright.source.records import NamedTuple
from opwright.source.span import Span


class OperatorStatus(enum.Enum):
    """What runs when an operator is called on the backend's device. Reports name the members by their names."""

    kernel = "a kernel of the backend"
    structured = "a structured kernel of the backend"
    stub = "PyTorch's structured kernel with a loop of the backend"
    by_out = "a generated wrapper that calls the out overload"
    by_functional = "a generated wrapper that copies the result of the functional overload"
    inherited = "a kernel of PyTorch, named in the file"
    manual = "a kernel that the author registers by hand"
    composite = "PyTorch's kernel, which calls other operators"
    fallback = "the CPU's kernel, on copies of the tensors"
    missing = "nothing: the call raises NotImplementedError"
    elsewhere = "nothing: the operator is for other devices or layouts"

    __hash__ = object.__hash__


#: The statuses of operators that cannot be called.
ABSENT: Final = frozenset((OperatorStatus.missing, OperatorStatus.elsewhere))


class BackwardStatus(enum.Enum):
    """What happens to gradients."""

    works = "a formula of PyTorch, whose operators all run"
    composite = "the operators that it calls are differentiated"
    own = "an autograd kernel of the backend"
    lacks = "a formula of PyTorch, which calls operators that are missing"
    lost = "the result has no gradient: a kernel replaces the differentiable operators"
    unimplemented = "an error: PyTorch has no formula"
    none = "nothing to differentiate"
    missing = "the operator itself is missing"
    unknown = "what the library does that defines the operator"

    __hash__ = object.__hash__


class MetaSupport(enum.Enum):
    """Where shapes and dtypes of results come from while PyTorch traces."""

    structured = "the shape function of its structured kernel"
    kernel = "a kernel for Meta"
    python = "a kernel for Meta that PyTorch registers in Python"
    composite = "the operators that it calls"
    inplace = "its argument, which it writes"
    cuda_build = "a kernel for Meta in builds of PyTorch with CUDA; without CUDA tracing raises an error"
    missing = "nothing: tracing raises an error"
    unknown = "what the library has that defines the operator"

    __hash__ = object.__hash__


class TrapKind(enum.Enum):
    """A mistake that backend files invite."""

    needed = "an operator that PyTorch's code relies on has no kernel"
    view_fallback = "a view is left to the CPU fallback"
    composite_override = "a kernel replaces differentiable operators, without an autograd kernel"
    inplace_alone = "an in-place operator has a kernel, and its functional form has none"
    backward = "an operator has a kernel, and its backward formula calls operators that are missing"

    __hash__ = object.__hash__


def shown_name(function: NativeFunction) -> str:
    """Name of an operator in reports: with its overload, and with its namespace unless that is `aten`."""
    name = function.name.text
    return name if function.namespace == "aten" else f"{function.namespace}::{name}"


class Trap(NamedTuple):
    """A mistake with the operator that has it: what happens, what to write, and the operator's entry in the file."""

    kind: TrapKind
    operator: str
    message: str
    help: str
    span: Span | None = None


class Reach(NamedTuple):
    """What a call of an operator reaches.

    `key` is the name of the dispatch key whose kernel runs, empty for a fallback and for nothing. `kernel` is the C++
    name of the kernel. `through` is the operator whose kernel does the work, if the one that runs is generated, and
    `lacks` that operator if it is missing.
    """

    status: OperatorStatus
    key: str = ""
    kernel: str = ""
    through: str = ""
    lacks: str = ""


class Backward(NamedTuple):
    """What happens to gradients of an operator.

    `calls` are the C++ names of the operators that its formulas call, `helpers` the functions written by hand, whose
    operators are unknown, and `lacks` the operators among the calls that are missing.
    """

    status: BackwardStatus
    calls: tuple[str, ...] = ()
    helpers: tuple[str, ...] = ()
    lacks: tuple[str, ...] = ()


class OperatorRecord(NamedTuple):
    """Coverage of one operator overload. `keys` are the further dispatch keys for which the backend has kernels."""

    function: NativeFunction
    reach: Reach
    backward: Backward
    meta: MetaSupport
    keys: tuple[str, ...] = ()
    span: Span | None = None
    traps: tuple[Trap, ...] = ()

    @property
    def name(self) -> str:
        """Name of the operator in reports."""
        return shown_name(self.function)

    @property
    def status(self) -> OperatorStatus:
        """What runs for the operator."""
        return self.reach.status


class NeededOperator(NamedTuple):
    """An operator that every device needs, and what breaks as the backend is; empty if nothing does."""

    record: OperatorRecord
    breaks: str


class CoverageReport(NamedTuple):
    """Coverage of one backend in one release of PyTorch.

    `fallback` is `cpu` or `none`, and `fallback_views` what a CPU fallback does with views: `copy` or `error`.
    """

    backend: str
    key: str
    path: str
    release: str
    fallback: str
    fallback_views: str
    records: tuple[OperatorRecord, ...]
    needed: tuple[NeededOperator, ...]

    @property
    def traps(self) -> tuple[Trap, ...]:
        """Traps of all operators."""
        return tuple([trap for record in self.records for trap in record.traps])


class Query(NamedTuple):
    """Choices of a user; an empty one leaves out no operator.

    `names` are names or patterns such as `conv*`; a name without its overload stands for all overloads. `traps` has the
    names of kinds of traps, and `any` for all of them.
    """

    names: tuple[str, ...] = ()
    statuses: tuple[str, ...] = ()
    backward: tuple[str, ...] = ()
    meta: tuple[str, ...] = ()
    traps: tuple[str, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether all operators are wanted because nothing is said."""
        return not any(self)

    def selects(self, record: OperatorRecord) -> bool:
        """Whether an operator is wanted."""
        kinds = {trap.kind.name for trap in record.traps}
        return (
            (not self.names or any(_matches(record, name) for name in self.names))
            and (not self.statuses or record.status.name in self.statuses)
            and (not self.backward or record.backward.status.name in self.backward)
            and (not self.meta or record.meta.name in self.meta)
            and (not self.traps or not kinds.isdisjoint(self.traps) or ("any" in self.traps and bool(kinds)))
        )


def _matches(record: OperatorRecord, pattern: str) -> bool:
    name = record.name
    return fnmatchcase(name, pattern) or fnmatchcase(name.partition(".")[0], pattern)
