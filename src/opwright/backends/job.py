"""Loads the job of a run for external backends: that of PyTorch's operators, with the backends and their own ones."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from opwright.backends.external_backend import ExternalBackend, RunBackends
from opwright.backends.lazy_backend import RunLazyBackends
from opwright.backends.rows import BACKEND, LAZY
from opwright.dialects.native_functions.loader import load_operator_files
from opwright.dialects.table import TAGS
from opwright.emit.registry import dialects_of
from opwright.guests import job_record
from opwright.model.dispatch_key import device_flags
from opwright.run.loading import load_libraries, load_pytorch_job

if TYPE_CHECKING:
    from collections.abc import Mapping

    from opwright.dialects.dialect import LoadContext
    from opwright.emit.emitter import Job
    from opwright.release.rules import Rules
    from opwright.run.request import Request
    from opwright.source.diagnostic import Diagnostics
    from opwright.source.items import ChosenItems


def load_backend_job(request: Request, rules: Rules, sink: Diagnostics, chosen_items: Mapping[str, ChosenItems]) -> Job:
    """Job of a request for external backends, of which none may have a key that PyTorch has kernels for."""
    devices = frozenset(device_flags()) if request.backends else None
    load_guests = partial(_load_guests, request)
    return load_pytorch_job(request, rules, sink, chosen_items, devices=devices, load_guests=load_guests)


def _load_guests(request: Request, context: LoadContext) -> tuple[object, ...]:
    if LAZY.name in dialects_of(request.families):
        lazy_backends = LAZY.load(request.backends, context)
        backends = tuple([lazy_backend.backend for lazy_backend in lazy_backends])
        guests: tuple[object, ...] = (RunBackends(backends), RunLazyBackends(lazy_backends))
    else:
        backends = load_backends(request, context) if request.backends else ()
        guests = (RunBackends(backends),)
    libraries = load_libraries(request, context.rules, context.sink) if backends else ()
    libraries += tuple([library for backend in backends for library in backend.libraries])
    record = job_record("libraries") if libraries else None
    return guests if record is None else (*guests, record(libraries))


def load_backends(request: Request, context: LoadContext) -> tuple[ExternalBackend, ...]:
    """External backends of a request, which may name the operators of its operator files."""
    if request.operator_files:
        tags = TAGS.files(request.inputs)[0]
        catalog = load_operator_files(context.operators, request.operator_files, tags, context.sink, context.rules)
        context = context._replace(catalog=catalog, functions=catalog.functions)
    return BACKEND.load(request.backends, context)
