"""Makes explanations of overloads, with their dispatch tables."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any

from opwright.backends.dispatch.device_kernels import DeviceKernels, Dispatch, Serving, TableRow, dispatch_table
from opwright.backends.dispatch.hand_registrations import HandRegistrations
from opwright.backends.dispatch.registrations import RegistrationKind, registrations
from opwright.backends.dispatch.resolution import qualified_name
from opwright.backends.external_backend import RunBackends
from opwright.backends.operator_records import shown_name
from opwright.backends.wrapper_options import Fallback
from opwright.emit.emitter import Job
from opwright.libraries.kernels import condition_of, implementations_of
from opwright.model.dispatch_key import UNDEFINED, key_named
from opwright.model.native_function import NativeFunction
from opwright.tools.explain.gradients import derivative_record
from opwright.tools.explain.loading import Explained
from opwright.tools.explain.records import SECTIONS, DispatchRecord, Explanation, ImplementationRecord
from opwright.tools.explain.schemas import operation_record, place_of, requirements_record, schema_record
from opwright.tools.explain.signatures import python_records, signature_records
from opwright.tools.explain.symbols import planned_symbols, written_symbols
from opwright.workspace.provenance import FileOrigin


def dispatch_records(
    function: NativeFunction, job: Job, by_hand: HandRegistrations | None = None
) -> tuple[DispatchRecord, ...]:
    """Dispatch table of an overload, with the fallbacks of the job's backends, and what is registered by hand.

    That of an operator of others has the kernels of this library alone, for nobody here knows the rest.
    """
    does = RegistrationKind.cpu_fallback.value
    backends = job.of(RunBackends).backends
    fallbacks = {backend.key.name: does for backend in backends if backend.options.fallback is Fallback.cpu}
    rows = dispatch_table(function, registrations(job, function), None, fallbacks)
    if not function.library.defines_operators:
        keys = {key.name for key in function.kernels}
        rows = (row for row in rows if row.registered_for in keys)
    # Composite kernels are the same for all devices without a kernel, so any such device will do.
    other_device = Dispatch(DeviceKernels(UNDEFINED, {}, {}), job.catalog, job.rules)
    return tuple(_records(rows, function, other_device, by_hand if function.library.in_libtorch else None))


def _records(
    rows: Iterable[TableRow], function: NativeFunction, dispatch: Dispatch, sources: HandRegistrations | None
) -> Iterator[DispatchRecord]:
    for row in rows:
        registration = row.registration
        by_hand = row.key.by_hand if function.library.in_libtorch else ()
        place = sources.place(function.name.text, row.key) if sources is not None and by_hand else None
        if place is not None:
            by_hand = (str(place),)
        elif sources is not None and sources.covers(row.key):
            by_hand = ()
        if registration is None and place is not None:
            kind = RegistrationKind.by_hand
            yield DispatchRecord(row.key.name, "kernel", "", kind.name, kind.value, "", "", by_hand)
            continue
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


def _implementations(function: NativeFunction) -> Iterator[ImplementationRecord]:
    """Kernels for the keys that have several."""
    for key, kernel in function.kernels.items():
        for implementation, when, priority, python in implementations_of(kernel):
            name = python or f"{implementation.namespace}::{implementation.name}".removeprefix("::")
            yield ImplementationRecord(
                key.name, implementation.name, name, when, condition_of(implementation), priority
            )


def explain(
    function: NativeFunction,
    explained: Explained,
    sections: Collection[str] = tuple(SECTIONS),
    origins: Mapping[str, FileOrigin] | None = None,
) -> Explanation:
    """Explanation of an overload, with these sections.

    `origins` are those of the files of an output folder, None if there is none: then symbols have no lines.
    """
    names = (member.name.text for member in explained.job.catalog.functions if member.name.name == function.name.name)
    explanation = Explanation(
        qualified_name(function),
        str(function.schema),
        str(explained.job.rules.version),
        place_of(function),
        function.is_synthesized,
        tuple([name for name in names if name != function.name.text]),
    )
    job = explained.job

    def dispatch() -> dict[str, Any]:
        records = dispatch_records(function, job, explained.by_hand)
        return {"dispatch": records, "implementations": tuple(_implementations(function))}

    makers: dict[str, Callable[[], dict[str, Any]]] = {
        "schema": lambda: {"roles": schema_record(function)},
        "requirements": lambda: {"requirements": requirements_record(function)},
        "operation": lambda: {"operation": operation_record(function)},
        "dispatch": dispatch,
        "signatures": lambda: {"signatures": signature_records(function, job)},
        "derivative": lambda: {"derivative": derivative_record(function, job)},
        "python": lambda: {"python": python_records(function, job)},
        "symbols": lambda: {
            "symbols": planned_symbols(function, job, explained.families)
            if origins is None
            else written_symbols(function, origins)
        },
    }
    for section in sections:
        explanation = explanation._replace(**makers[section]())
    return explanation
