"""Mistakes that backend files invite, found in what runs for each operator."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from opwright.backends import backend_codes
from opwright.backends.dialect.inherited import shared_kernel
from opwright.backends.dispatch.device_kernels import DeviceKernels, Dispatch, composite_key
from opwright.backends.emit.section_file import SectionFile
from opwright.backends.external_backend import ExternalBackend, RunBackends
from opwright.backends.operator_names import BROKEN_BY_FALLBACK, NEEDED, RARE_VIEWS
from opwright.backends.operator_records import (
    ABSENT,
    BackwardStatus,
    OperatorRecord,
    OperatorStatus,
    Trap,
    TrapKind,
    shown_name,
)
from opwright.backends.wrapper_options import Fallback
from opwright.emit.aten.backend import units_of
from opwright.emit.emitter import Job
from opwright.model.dispatch_key import CPU
from opwright.model.native_function import NativeFunction
from opwright.release.rules import Rules
from opwright.schema.function import SchemaKind
from opwright.source.diagnostic import Diagnostics
from opwright.source.records import NamedTuple
from opwright.source.span import Span

_VIEW_ERROR: Final = "the fallback refuses views with an error"
_VIEW_COPY: Final = "the fallback returns a copy, so writes to the view are lost, without an error"


class TrapFacts(NamedTuple):
    """What a search for traps reads: what runs for each operator, and facts of the backend and of the release.

    With `copies_views`, a CPU fallback copies views in place of refusing them.
    """

    dispatch: Dispatch
    rules: Rules
    copies_views: bool

    @property
    def is_functionalized(self) -> bool:
        """Whether views and writes never reach the device."""
        device = self.dispatch.kernels.key.device
        return device is not None and device.is_functionalized

    def status(self, function: NativeFunction) -> OperatorStatus:
        """What runs for an operator."""
        return self.dispatch.reach(function).status

    def span(self, function: NativeFunction) -> Span | None:
        """Entry of an operator in the backend file; None if it has none."""
        entry = self.dispatch.kernels.entries.get(function)
        return None if entry is None else entry.span


def dispatch_traps(function: NativeFunction, facts: TrapFacts) -> Iterator[Trap]:
    """Traps of an operator that follow from what runs for it."""
    traps = (_kernel_trap(function, facts), _inplace_trap(function, facts))
    yield from [trap for trap in traps if trap is not None]


def gradient_traps(record: OperatorRecord) -> Iterator[Trap]:
    """Traps of an operator that follow from what happens to gradients."""
    if record.span is None:
        return
    name = record.name
    if record.backward.status is BackwardStatus.lost:
        message = f"`{name}` has no gradient: the kernel replaces that of PyTorch, which calls differentiable operators"
        help = f"add `{name}` to `autograd` too, or remove it and implement what it calls"
        yield Trap(TrapKind.composite_override, name, message, help, record.span)
    elif record.backward.status is BackwardStatus.lacks:
        missing = ", ".join([f"`{operator}`" for operator in record.backward.lacks])
        message = f"backward of `{name}` calls {missing}, which the backend lacks"
        yield Trap(TrapKind.backward, name, message, f"add {missing}", record.span)


def is_view_of_devices(function: NativeFunction) -> bool:
    """Whether a function is a view of dense tensors for which each device needs a kernel.

    >>> import opwright
    >>> catalog = opwright.load()
    >>> [is_view_of_devices(catalog[name]) for name in ("as_strided", "transpose.int", "set_")]
    [True, False, False]
    """
    if function.kind is SchemaKind.inplace or function.name.text in RARE_VIEWS.in_any_release:
        return False
    return function.is_view and CPU in function.kernels and composite_key(function, CPU) is None


def needs_kernels(function: NativeFunction, rules: Rules) -> bool:
    """Whether every device needs a kernel for the function: PyTorch's code calls it, or it is a view."""
    return function.name.text in NEEDED.in_release(rules) or is_view_of_devices(function)


def what_breaks(function: NativeFunction, facts: TrapFacts) -> str:
    """What breaks because an operator that every device needs has no kernel; empty if nothing does."""
    status = facts.status(function)
    if facts.is_functionalized and (function.is_view or function.kind is SchemaKind.inplace):
        return ""
    if status is OperatorStatus.missing:
        broken = NEEDED.in_release(facts.rules).get(function.name.text, "")
        return f"NotImplementedError at {broken}" if broken else ""
    if status is not OperatorStatus.fallback:
        return ""
    if is_view_of_devices(function):
        return _VIEW_COPY if facts.copies_views else _VIEW_ERROR
    return BROKEN_BY_FALLBACK.in_release(facts.rules).get(function.name.text, "")


def _kernel_trap(function: NativeFunction, facts: TrapFacts) -> Trap | None:
    """Trap of an operator that every device needs: it has no kernel, or one that cannot do what it is needed for."""
    status, broken, name = facts.status(function), what_breaks(function, facts), shown_name(function)
    if not broken:
        return None
    is_missing = status is OperatorStatus.missing
    if not is_missing and is_view_of_devices(function):
        kind, message = TrapKind.view_fallback, f"the view `{name}` is left to the CPU fallback: {broken}"
    else:
        lead = "has no kernel" if is_missing else "is left to the CPU fallback"
        kind, message = TrapKind.needed, f"`{name}` {lead}: {broken}"
    return Trap(kind, name, message, _entry_help(function), facts.span(function))


def _entry_help(function: NativeFunction) -> str:
    """What to write for an operator without a kernel: PyTorch's kernel, if the CPU and CUDA share one."""
    name = shown_name(function)
    if shared_kernel(function) is not None:
        return f"add `{name}: {{inherit: shared}}`, or its name to `manual` if you register it by hand"
    return f"add `{name}` with a kernel, or its name to `manual` if you register it by hand"


def _inplace_trap(function: NativeFunction, facts: TrapFacts) -> Trap | None:
    span = facts.span(function)
    if function.kind is not SchemaKind.inplace or span is None or function.group is None or facts.is_functionalized:
        return None
    functional = function.group.functional
    status = facts.status(functional)
    if status not in ABSENT and status is not OperatorStatus.fallback:
        return None
    name, other = shown_name(function), shown_name(functional)
    left = "is missing" if status in ABSENT else "is left to the CPU fallback"
    message = f"`{name}` has a kernel, and `{other}`, which functionalization calls in its place, {left}"
    return Trap(TrapKind.inplace_alone, name, message, f"add `{other}`", span)


def device_dispatch(backend: ExternalBackend, job: Job, fallback: Fallback) -> Dispatch:
    """What calls of operators reach under a backend's dispatch key."""
    dense = backend.section("supported")
    entries = {} if dense is None else {entry.function: entry for entry in dense.entries}
    units = [] if dense is None else units_of(SectionFile(backend, dense).wrapping, job)
    kernels = DeviceKernels(
        backend.key,
        entries,
        {function: kind for _, members in units for function, kind in members},
        manual=backend.options.manual,
        has_fallback=fallback is Fallback.cpu,
    )
    return Dispatch(kernels, job.catalog, job.rules)


_CODES: Final = {
    TrapKind.needed: backend_codes.NEEDED_OPERATOR,
    TrapKind.view_fallback: backend_codes.LEFT_VIEW,
    TrapKind.inplace_alone: backend_codes.INPLACE_ALONE,
}


def check_backends(job: Job, sink: Diagnostics) -> None:
    """Warn about operators that a backend should have.

    Files with nothing but what PyTorch's generator reads do not say what else the backend registers, so they have
    no warnings.
    """
    for backend in job.of(RunBackends).backends:
        # Files in Opwright's dialect derive overloads from out kernels.
        if backend.options.derives_from_out:
            facts = TrapFacts(
                device_dispatch(backend, job, backend.options.fallback),
                job.rules,
                backend.options.fallback_copies_views,
            )
            dense, entries = backend.section("supported"), facts.dispatch.kernels.entries
            for function in job.catalog.functions:
                if function in entries or needs_kernels(function, job.rules):
                    for trap in dispatch_traps(function, facts):
                        span = trap.span or (None if dense is None else dense.span)
                        sink.warning(_CODES[trap.kind], trap.message, span, help=trap.help)
