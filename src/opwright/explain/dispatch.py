"""The dispatch table of an overload as records."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from opwright.coverage.dispatch import DeviceKernels, Dispatch
from opwright.coverage.dispatch_table import Serving, TableRow, dispatch_table
from opwright.coverage.records import shown_name
from opwright.coverage.registrations import RegistrationKind, registrations
from opwright.emit.emitter import Job
from opwright.explain.records import DispatchRecord
from opwright.model.dispatch_key import UNDEFINED, key_named
from opwright.model.external_backend import Fallback
from opwright.model.library import PYTORCH
from opwright.model.native_function import NativeFunction

__all__ = ["dispatch_records"]


def dispatch_records(function: NativeFunction, job: Job) -> tuple[DispatchRecord, ...]:
    """The dispatch table of an overload, with the fallbacks of the job's backends."""
    does = RegistrationKind.cpu_fallback.value
    fallbacks = {backend.key.name: does for backend in job.backends if backend.options.fallback is Fallback.cpu}
    rows = dispatch_table(function, registrations(job, function), None, fallbacks)
    # Composite kernels are the same for all devices without a kernel, so any such device will do.
    other_device = Dispatch(DeviceKernels(UNDEFINED, {}, {}), job.catalog, job.rules)
    return tuple(_records(rows, function, other_device))


def _records(rows: Iterable[TableRow], function: NativeFunction, dispatch: Dispatch) -> Iterator[DispatchRecord]:
    for row in rows:
        registration = row.registration
        by_hand = row.key.by_hand if function.library is PYTORCH else ()
        if registration is None:
            text = row.key.does or row.serving.value
            yield DispatchRecord(row.key.name, row.serving.name, "", "", text, "", "", by_hand)
            continue
        callee = registration.through
        if callee is None and row.serving is Serving.composite:
            callee = dispatch.callee(function, key_named(row.registered_for))
        through = "" if callee is None else shown_name(callee)
        is_by_hand = registration.kind is RegistrationKind.by_hand
        yield DispatchRecord(
            row.key.name,
            row.serving.name,
            row.registered_for,
            registration.kind.name,
            registration.kind.value,
            registration.kernel,
            through,
            by_hand if is_by_hand or row.serving in (Serving.kernel, Serving.composite) else (),
        )
