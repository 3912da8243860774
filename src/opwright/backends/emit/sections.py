"""Sections of a run's external backends, as the wrappers of kernels see them."""

from __future__ import annotations

from collections.abc import Sequence

from opwright.backends.emit.section_file import NO_ADDITIONS, REFERENCE_SECTIONS, SectionAdditions, SectionFile
from opwright.backends.extensions import NO_EXTENSIONS, EmitExtensions
from opwright.backends.external_backend import RunBackends
from opwright.backends.file_backend import FileBackend, OverloadChoices
from opwright.backends.lazy_backend import RunLazyBackends
from opwright.backends.wrapper_options import NO_HEAD_OPTIONS
from opwright.emit.aten.backend import (
    KernelUnit,
    WrappedUnit,
    group_indices,
    members,
    units_of,
)
from opwright.emit.emitter import Job, per_job
from opwright.model.extra_values import NO_VALUES
from opwright.source.records import NamedTuple


@per_job
def section_files(job: Job) -> Sequence[SectionFile]:
    """Sections of the run's backends that have a source file.

    A backend whose file has only what PyTorch's generator reads has none if its section `supported` is empty.
    """
    files: list[SectionFile] = []
    for backend in job.of(RunBackends).backends:
        supported = backend.section("supported")
        # Keys of plug-ins that the file does not have say nothing about it.
        options = backend.options._replace(entry_values=NO_VALUES)
        if not options.values.names_in_file:
            options = options._replace(values=NO_VALUES)
        is_extended = options != NO_HEAD_OPTIONS or any(
            section.name not in REFERENCE_SECTIONS for section in backend.sections
        )
        if is_extended or (supported is not None and supported.entries):
            sections = [SectionFile(backend, section) for section in backend.sections]
            files += [file for file in sections if file.section.entries or file.has_fallback]
    return files


class RegisteredUnit(NamedTuple):
    """A unit with wrappers, and what the file says of its overloads, because functions do not know the backend.

    `choices` are those of each overload of the unit.
    """

    wrapped: WrappedUnit
    choices: tuple[OverloadChoices, ...]


def registered_units(file: SectionFile, job: Job) -> Sequence[RegisteredUnit]:
    """Units of a section, in the catalog's order; those of other libraries follow, in the order of the file."""
    return _registered_units(job, file)


@per_job
def _registered_units(job: Job, file: SectionFile) -> Sequence[RegisteredUnit]:
    wrapping = section_wrapping(job, file)
    return [
        RegisteredUnit(wrapped, tuple([wrapping.overload_choices(function) for function in members(wrapped[0])]))
        for wrapped in _wrapped_units(job, file)
    ]


@per_job
def section_wrapping(job: Job, file: SectionFile) -> FileBackend:
    """Kernels of a section with all that is said of their wrappers, also by plug-ins."""
    added = section_additions(job, file).by_function
    return file.wrapping.replace(additions=added) if added else file.wrapping


@per_job
def _wrapped_units(job: Job, file: SectionFile) -> list[WrappedUnit]:
    """Units with wrappers: those of PyTorch, then those with operators that PyTorch does not have."""
    indices = group_indices(job)
    others = [function for function in file.wrapping.kernels if function not in indices]
    units: list[KernelUnit] = [*dict.fromkeys([function.group or function for function in others])]
    wrapped = [(unit, file.wrapping.wrapped_overloads(unit)) for unit in units]
    return [*units_of(file.wrapping, job), *[(unit, kinds) for unit, kinds in wrapped if kinds]]


@per_job
def section_additions(job: Job, file: SectionFile) -> SectionAdditions:
    """What plug-ins add to the wrappers of a section."""
    entries = [entry.options for entry in file.section.entries]
    needs_any = job.of(EmitExtensions) != NO_EXTENSIONS or any(
        entry.convention or entry.candidates for entry in entries
    )
    # Plug-ins do not add to wrappers of lazy tensors.
    if job.of(RunLazyBackends).lazy_backends or not needs_any:
        return NO_ADDITIONS
    # Few runs have plug-ins.
    from opwright.backends.emit.additions import additions_of

    return additions_of(_wrapped_units(job, file), file, job)
