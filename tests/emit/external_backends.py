"""Backends outside PyTorch in tests: from entries and the options of each to the files of a backend."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from opwright.backends.emit import headers, registrations
from opwright.backends.extensions import NO_EXTENSIONS, EmitExtensions
from opwright.backends.external_backend import BackendEntry, BackendSection, ExternalBackend, RunBackends
from opwright.backends.hooks import Implementation
from opwright.backends.wrapper_options import NO_HEAD_OPTIONS, EntryOptions, HeadOptions
from opwright.dialects.names import default_kernel_name
from opwright.emit.emitter import EmitterSource, Job, Slots
from opwright.model.catalog import Catalog
from opwright.model.dispatch_key import key_named
from opwright.model.native_function import Kernel
from tests.emit.emitting import job_of, slots_of

_OWN: Final = (Implementation.structured, Implementation.stub)


class BackendFiles(NamedTuple):
    """The slots of the header of the kernels and of the source with the registrations."""

    header: Slots
    source: Slots


def external_backend(
    catalog: Catalog,
    operators: Mapping[str, EntryOptions],
    options: HeadOptions = NO_HEAD_OPTIONS,
    *,
    device_guard: bool = True,
    out_is_primary: bool = True,
    conventions: Sequence[str] = (),
    **sections: Mapping[str, EntryOptions],
) -> ExternalBackend:
    """The backend Acme with a section of some operators, and further sections."""
    key = key_named("PrivateUse1")
    named = {"supported": operators, **sections}
    return ExternalBackend(
        key,
        tuple([_section(catalog, name, named[name]) for name in named]),
        cpp_namespace="acme::native",
        display_name="Acme",
        out_is_primary=out_is_primary,
        device_guard=device_guard,
        options=options,
        conventions=tuple([(name, catalog.functions[0].entry) for name in conventions]),
    )


#: What the dispatch keys of sections begin with.
_PREFIXES: Final = {"supported": "", "autograd": "Autograd", "autocast": "Autocast", "sparse": "Sparse"}


def _section(catalog: Catalog, name: str, operators: Mapping[str, EntryOptions]) -> BackendSection:
    key = key_named(f"{_PREFIXES[name]}PrivateUse1")
    entries = []
    for operator, own in operators.items():
        function = catalog[operator]
        kernel_name = own.callee.rpartition("structured_")[2] or default_kernel_name(function.schema)
        kernel = Kernel(key, kernel_name.rpartition("::")[2], "acme::native", own.implementation in _OWN)
        entries.append(BackendEntry(function, kernel, function.entry, own))
    return BackendSection(name, key, tuple(entries), catalog.functions[0].entry)


def backend_job(
    entries: str,
    operators: Mapping[str, EntryOptions],
    extensions: EmitExtensions = NO_EXTENSIONS,
    **choices: object,
) -> Job:
    """The job of a backend with some of the operators of a text of entries, and with extensions of plug-ins."""
    plain = job_of(entries)
    backend = external_backend(plain.catalog, operators, **choices)  # type: ignore[arg-type]
    return Job(
        plain.catalog,
        plain.rules,
        plain.options,
        guests=(RunBackends((backend,)), extensions),
        registration_text=plain.registration_text,
    )


def files_of(job: Job, *, source: str = "Acme") -> BackendFiles:
    """The files of the backend of a job, with the source of one of its keys."""
    return BackendFiles(
        _file(headers.emitters, "AcmeNativeFunctions.h", job),
        _file(registrations.emitters, f"Register{source}.cpp", job),
    )


def backend_files(
    entries: str, operators: Mapping[str, EntryOptions], *, source: str = "Acme", **choices: object
) -> BackendFiles:
    """The files of a backend with some of the operators of a text of entries, with the source of one of its keys."""
    return files_of(backend_job(entries, operators, **choices), source=source)  # type: ignore[arg-type]


def slot(slots: Slots, name: str) -> str:
    """The text of a slot."""
    value = slots[name]
    return value if isinstance(value, str) else "\n".join(value)


def _file(source: EmitterSource, path: str, job: Job) -> Slots:
    return slots_of(source, path, job)
