"""The mistakes that backend files invite, found in the coverage of their operators."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Final, NamedTuple

from opwright.coverage.dispatch import composite_key
from opwright.coverage.records import ABSENT, BackwardStatus, OperatorRecord, OperatorStatus, Trap, TrapKind
from opwright.model.dispatch_key import CPU, FUNCTIONALIZED_DEVICES, DispatchKey
from opwright.model.native_function import NativeFunction
from opwright.release.operator_names.backends import BROKEN_BY_FALLBACK, NEEDED
from opwright.release.rules import Rules
from opwright.schema.function import SchemaKind

__all__ = ["TrapFacts", "traps_of", "what_breaks"]

#: The statuses of operators that the backend itself implements, in one way or another.
_OWN: Final = frozenset(
    (
        OperatorStatus.kernel,
        OperatorStatus.structured,
        OperatorStatus.stub,
        OperatorStatus.by_out,
        OperatorStatus.by_functional,
        OperatorStatus.inherited,
        OperatorStatus.manual,
    )
)
_VIEW_ERROR: Final = "the fallback refuses views with an error"
_VIEW_COPY: Final = "the fallback returns a copy: writes to the view are lost, without an error"


class TrapFacts(NamedTuple):
    """What a search for traps reads besides the record of an operator: all records, and facts of the backend."""

    key: DispatchKey
    records: Mapping[NativeFunction, OperatorRecord]
    rules: Rules
    copies_views: bool

    @property
    def is_functionalized(self) -> bool:
        """Whether views and writes never reach the device."""
        return self.key.backend in FUNCTIONALIZED_DEVICES


def traps_of(record: OperatorRecord, facts: TrapFacts) -> tuple[Trap, ...]:
    """The traps of one operator."""
    return tuple([trap for search in _SEARCHES for trap in search(record, facts)])


def is_view_of_devices(function: NativeFunction) -> bool:
    """Whether a function is a view of dense tensors for which each device needs a kernel.

    >>> import opwright
    >>> catalog = opwright.load()
    >>> [is_view_of_devices(catalog[name]) for name in ("as_strided", "transpose.int", "set_")]
    [True, False, False]
    """
    is_view = function.is_view and function.kind is not SchemaKind.inplace
    return is_view and CPU in function.kernels and composite_key(function, CPU) is None


def what_breaks(record: OperatorRecord, facts: TrapFacts) -> str:
    """What breaks because an operator that every device needs has no kernel; empty if nothing does."""
    if facts.is_functionalized and (record.function.is_view or record.function.kind is SchemaKind.inplace):
        return ""
    name = record.function.name.text
    if record.status is OperatorStatus.missing:
        broken = NEEDED.in_release(facts.rules).get(name, "")
        return f"NotImplementedError at {broken}" if broken else ""
    if record.status is not OperatorStatus.fallback:
        return ""
    broken = BROKEN_BY_FALLBACK.in_release(facts.rules).get(name, "")
    if not broken and is_view_of_devices(record.function):
        return _VIEW_COPY if facts.copies_views else _VIEW_ERROR
    return broken


def _needed(record: OperatorRecord, facts: TrapFacts) -> Iterator[Trap]:
    if record.function.name.text not in NEEDED.in_release(facts.rules) or is_left_view(record):
        return
    broken = what_breaks(record, facts)
    if broken:
        lead = "has no kernel" if record.status is OperatorStatus.missing else "is left to the CPU fallback"
        message = f"`{record.name}` {lead}: {broken}"
        yield Trap(TrapKind.needed, record.name, message, _entry_help(record.function))


def is_left_view(record: OperatorRecord) -> bool:
    """Whether an operator is a view that is left to a fallback."""
    return record.status is OperatorStatus.fallback and is_view_of_devices(record.function)


def _view_fallback(record: OperatorRecord, facts: TrapFacts) -> Iterator[Trap]:
    if not facts.is_functionalized and is_left_view(record):
        message = f"the view `{record.name}` is left to the CPU fallback: {what_breaks(record, facts)}"
        yield Trap(TrapKind.view_fallback, record.name, message, _entry_help(record.function), record.span)


def _entry_help(function: NativeFunction) -> str:
    """What to write for an operator without a kernel: PyTorch's own kernel, if CPU and CUDA share one."""
    name = function.name.text
    kernels = {kernel.name for key, kernel in function.kernels.items() if key.name in ("CPU", "CUDA")}
    if len(kernels) == 1 and any(key.name == "CUDA" for key in function.kernels):
        return f"add `{name}: {{inherit: shared}}`, a kernel of your own, or its name to `manual` if you register it"
    return f"add `{name}` with a kernel of your own, or its name to `manual` if you register it"


def _composite_override(record: OperatorRecord, facts: TrapFacts) -> Iterator[Trap]:
    del facts
    if record.backward.status is BackwardStatus.lost and record.status is not OperatorStatus.manual:
        message = (
            f"`{record.name}` has no gradient: the kernel replaces PyTorch's, which calls differentiable operators"
        )
        help = f"add `{record.function.name.text}` to `autograd` too, or remove it and implement what it calls"
        yield Trap(TrapKind.composite_override, record.name, message, help, record.span)


def _inplace_alone(record: OperatorRecord, facts: TrapFacts) -> Iterator[Trap]:
    function = record.function
    if function.kind is not SchemaKind.inplace or record.span is None or function.group is None:
        return
    functional = facts.records[function.group.functional]
    if functional.status in ABSENT or functional.status is OperatorStatus.fallback:
        left = "is missing" if functional.status in ABSENT else "is left to the CPU fallback"
        message = f"`{record.name}` has a kernel, and `{functional.name}` {left}: functionalization calls it instead"
        help = f"add `{functional.function.name.text}`, or the out overload with `use_out_as_primary: true`"
        yield Trap(TrapKind.inplace_alone, record.name, message, help, record.span)


def _backward(record: OperatorRecord, facts: TrapFacts) -> Iterator[Trap]:
    del facts
    if record.span is None or record.backward.status is not BackwardStatus.lacks:
        return
    missing = ", ".join([f"`{name}`" for name in record.backward.lacks])
    message = f"backward of `{record.name}` calls {missing}, which the backend lacks"
    yield Trap(TrapKind.backward, record.name, message, f"add {missing}", record.span)


_SEARCHES: Final[tuple[Callable[[OperatorRecord, TrapFacts], Iterator[Trap]], ...]] = (
    _needed,
    _view_fallback,
    _composite_override,
    _inplace_alone,
    _backward,
)


def is_own(status: OperatorStatus) -> bool:
    """Whether the backend itself implements operators of a status."""
    return status in _OWN
