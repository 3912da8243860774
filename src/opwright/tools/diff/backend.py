"""What the author of a backend has to do for another release."""

from __future__ import annotations

import enum
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from opwright.backends.external_backend import BackendEntry, ExternalBackend
from opwright.backends.hooks import Implementation
from opwright.backends.operator_records import (
    ABSENT,
    BackwardStatus,
    CoverageReport,
    OperatorStatus,
    shown_name,
)
from opwright.emit.aten.backend import kernel_signature
from opwright.source.diagnostic import Diagnostic, Severity


class TaskKind(enum.Enum):
    """A kind of work on a backend, with the heading of its list."""

    entry = "Entries of the file to change"
    kernel = "Kernels whose C++ signature changes"
    needed = "Operators that every device needs, without a kernel"
    lost = "Operators that ran, and have no kernel any more"
    new = "New operators without a kernel"
    gradient = "Operators whose gradients no longer work"

    __hash__ = object.__hash__


class BackendTask(NamedTuple):
    """Something to do: the operator, what is wrong, what to write, and the line in the backend file, 0 without one."""

    kind: TaskKind
    operator: str
    message: str
    help: str = ""
    line: int = 0


class BackendSide(NamedTuple):
    """A backend with one release: as far as its file can be loaded, its coverage, and the mistakes in the file."""

    backend: ExternalBackend
    report: CoverageReport
    faults: Sequence[Diagnostic]


def backend_tasks(old: BackendSide, new: BackendSide) -> list[BackendTask]:
    """What a backend that is right with the old release has to change for the new one."""
    tasks = [*_faults(old, new), *_kernels(old.backend, new.backend), *_operators(old, new)]
    order = list(TaskKind)
    return sorted(tasks, key=lambda task: (order.index(task.kind), task.line, task.operator))


def named_operators(side: BackendSide) -> set[str]:
    """Operators that a backend file names."""
    return {shown_name(entry.function) for _, entry in _entries(side.backend)}


def _entries(backend: ExternalBackend) -> Iterator[tuple[str, BackendEntry]]:
    for section in backend.sections:
        for entry in section.entries:
            yield section.name, entry


def _faults(old: BackendSide, new: BackendSide) -> Iterator[BackendTask]:
    """Mistakes that the file has with the new release alone."""
    old_faults = {(fault.code, fault.message) for fault in old.faults}
    for fault in new.faults:
        if fault.severity is Severity.ERROR and (fault.code, fault.message) not in old_faults:
            span = fault.span
            text = "" if span is None else span.text.partition("\n")[0].strip()
            yield BackendTask(TaskKind.entry, text, fault.message, str(fault.help), 0 if span is None else span.line)


def _kernels(old: ExternalBackend, new: ExternalBackend) -> Iterator[BackendTask]:
    """Kernels of the backend itself that get other parameters or results."""
    before = {(section, shown_name(entry.function)): entry for section, entry in _entries(old)}
    for section, entry in _entries(new):
        earlier = before.get((section, shown_name(entry.function)))
        if earlier is None or entry.options.implementation is Implementation.inherited:
            continue
        types = [kernel_signature(each.function, each.kernel, external=True).type for each in (earlier, entry)]
        if types[0] != types[1]:
            message = f"`{entry.kernel.name}` is `{types[1]}` instead of `{types[0]}`"
            yield BackendTask(TaskKind.kernel, shown_name(entry.function), message, line=entry.span.line)


def _operators(old: BackendSide, new: BackendSide) -> Iterator[BackendTask]:
    """What calls of operators reach with the new release, where that is worse than before."""
    before = {record.name: record for record in old.report.records}
    breaks = {needed.record.name: needed.breaks for needed in new.report.needed if needed.breaks}
    broken_before = {needed.record.name for needed in old.report.needed if needed.breaks}
    for name, text in breaks.items():
        if name not in broken_before:
            yield BackendTask(TaskKind.needed, name, f"without a kernel, {text}")
    for record in new.report.records:
        earlier = before.get(record.name)
        if record.status is OperatorStatus.missing and record.name not in breaks:
            if earlier is None:
                yield BackendTask(TaskKind.new, record.name, f"`{record.function}` raises NotImplementedError")
            elif earlier.status not in ABSENT:
                message = f"it was {earlier.status.value}, and now raises NotImplementedError"
                yield BackendTask(TaskKind.lost, record.name, message)
        elif (
            earlier is not None
            and earlier.backward.status is BackwardStatus.works
            and record.backward.status is BackwardStatus.lacks
        ):
            lacks = record.backward.lacks
            names = ", ".join([f"`{name}`" for name in lacks])
            message = f"its formula calls {names}, which {'is' if len(lacks) == 1 else 'are'} missing"
            yield BackendTask(TaskKind.gradient, record.name, message)
