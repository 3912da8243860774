"""The sections of a run's external backends, as the wrappers of kernels see them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from opwright.emit.aten.backend import Backend, WrappedUnit, members, units_of
from opwright.emit.aten.register.out_kernels import can_call_out_kernel
from opwright.emit.emitter import Job, per_job
from opwright.model.dispatch_key import ANY_DEVICE_ALLOCATION
from opwright.model.external_backend import BackendSection, ExternalBackend, Guard, Implementation
from opwright.model.native_function import NativeFunction
from opwright.schema.function import SchemaKind

__all__ = ["RegisteredUnit", "SectionFile", "registered_units", "section_files"]


class SectionFile:
    """A section of an external backend, with its source file.

    `wrapping` has the kernels of the section, and the choices that decide how they are wrapped.
    """

    __slots__ = ("backend", "section", "wrapping")

    def __init__(self, backend: ExternalBackend, section: BackendSection) -> None:
        self.backend: Final = backend
        self.section: Final = section
        options = backend.options
        derived = derived_overloads(backend, section)
        allocates = bool(derived) or any(entry.kernel.structured for entry in section.entries)
        self.wrapping: Final = Backend(
            section.key,
            section.kernels,
            out_is_primary=backend.out_is_primary,
            external=True,
            device_guard=backend.device_guard,
            class_name=backend.class_name,
            generates_kernels=False,
            display_name=backend.display_key(section.key),
            allocation=(options.allocation or ANY_DEVICE_ALLOCATION) if allocates else None,
            callees={entry.function: entry.options.callee for entry in section.entries if entry.options.callee},
            derived=derived,
            guard=(options.guard or Guard()).type,
        )

    @property
    def name(self) -> str:
        """The name of the dispatch key in C++ names and file names."""
        return self.wrapping.display_name


#: The implementations that are functions which other wrappers can call.
_FUNCTIONS: Final = (Implementation.kernel, Implementation.inherited)


def derived_overloads(backend: ExternalBackend, section: BackendSection) -> frozenset[NativeFunction]:
    """The functional and in-place overloads whose wrappers call the kernel of the out overload.

    Those with a kernel of their own do not, nor those that PyTorch implements with other operators.
    """
    if not (backend.out_is_primary and backend.options.derives_from_out):
        return frozenset()
    kernels = section.kernels
    groups = [
        entry.function.group
        for entry in section.entries
        if entry.function.kind is SchemaKind.out and entry.options.implementation in _FUNCTIONS
    ]
    return frozenset(
        member
        for group in groups
        if group is not None
        for member in group.functions()
        if member not in kernels and not member.has_composite_kernel and can_call_out_kernel(member, group)
    )


@per_job
def section_files(job: Job) -> Sequence[SectionFile]:
    """The sections of the run's backends; none of a backend whose section `supported` is empty."""
    return list(_section_files(job))


def _section_files(job: Job) -> Iterator[SectionFile]:
    for backend in job.backends:
        supported = backend.section("supported")
        if supported is not None and supported.entries:
            for section in backend.sections:
                if section.entries:
                    yield SectionFile(backend, section)


class RegisteredUnit(NamedTuple):
    """A unit with wrappers, and what the file says of its overloads besides their names.

    `facts` are the texts that decide its wrappers, because the functions of a unit do not know the backend's kernels.
    """

    wrapped: WrappedUnit
    facts: tuple[str, ...]


def registered_units(file: SectionFile, job: Job) -> list[RegisteredUnit]:
    """The units of a section, in the catalog's order."""
    entries = {entry.function: entry for entry in file.section.entries}
    backend = file.backend
    choices = (backend.cpp_namespace, backend.class_name, backend.out_is_primary, backend.device_guard)
    shared = repr((file.name, *choices, file.wrapping.guard))
    units = []
    for wrapped in units_of(file.wrapping, job):
        own = [entries[function] for function in members(wrapped[0]) if function in entries]
        units.append(RegisteredUnit(wrapped, (shared, *[repr((entry.kernel, entry.options)) for entry in own])))
    return units
