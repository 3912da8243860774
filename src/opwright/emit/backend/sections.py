"""The sections of a run's external backends, as the wrappers of kernels see them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from opwright.emit.aten.backend import (
    KernelUnit,
    WrappedUnit,
    group_indices,
    members,
    units_of,
)
from opwright.emit.backend.section_file import (
    NO_ADDITIONS,
    REFERENCE_SECTIONS,
    SectionAdditions,
    SectionFile,
    has_additions,
)
from opwright.emit.emitter import HasFingerprintKey, Job, per_job
from opwright.model.external_backend import (
    NO_ENTRY_OPTIONS,
    NO_HEAD_OPTIONS,
    BackendEntry,
    ExternalBackend,
)
from opwright.model.extra_values import NO_VALUES

if TYPE_CHECKING:
    from opwright.emit.aten.register.additions import WrapperAdditions

__all__ = ["RegisteredUnit", "registered_units", "section_additions", "section_files"]


@per_job
def section_files(job: Job) -> Sequence[SectionFile]:
    """The sections of the run's backends that have a source file.

    A backend whose file has only what PyTorch's own generator reads has none if its section `supported` is empty.
    """
    return list(_section_files(job))


def _section_files(job: Job) -> Iterator[SectionFile]:
    for backend in job.backends:
        supported = backend.section("supported")
        # Keys of plug-ins that the file does not have say nothing about it.
        options = backend.options._replace(entry_values=NO_VALUES)
        if not options.values.names_in_file:
            options = options._replace(values=NO_VALUES)
        is_extended = options != NO_HEAD_OPTIONS or any(
            section.name not in REFERENCE_SECTIONS for section in backend.sections
        )
        if is_extended or (supported is not None and supported.entries):
            for section in backend.sections:
                file = SectionFile(backend, section)
                if section.entries or file.has_fallback:
                    yield file


class RegisteredUnit(HasFingerprintKey):
    """A unit with wrappers, and what the file says of its overloads besides their names.

    `facts` is the text that decides its wrappers, because the functions of a unit do not know the backend's kernels.
    `additions` are those of plug-ins to each wrapper, if there are any.
    """

    __slots__ = ("additions", "facts", "wrapped")

    def __init__(self, wrapped: WrappedUnit, facts: str, additions: tuple[WrapperAdditions | None, ...] = ()) -> None:
        self.wrapped: Final = wrapped
        self.facts: Final = facts
        self.additions: Final = additions

    @property
    def fingerprint_key(self) -> tuple[object, ...]:
        """All of it. The wrappers are one text, because a row for each takes longer than everything else."""
        unit, kinds = self.wrapped
        wrappers = "\n".join([f"{function.name.text} {kind.name}" for function, kind in kinds])
        return (unit, f"{wrappers}\n{self.facts}", self.additions)


def registered_units(file: SectionFile, job: Job) -> Sequence[RegisteredUnit]:
    """The units of a section, in the catalog's order; those of other libraries follow, in the order of the file."""
    return _registered_units(job, file)


@per_job
def _registered_units(job: Job, file: SectionFile) -> Sequence[RegisteredUnit]:
    entries = file.entries
    shared = _shared_facts(file.backend, file.name)
    added = section_additions(job, file).by_function
    units = []
    for wrapped in _wrapped_units(job, file):
        own = [entries[function] for function in members(wrapped[0]) if function in entries]
        has_any = added and any(function in added for function, _ in wrapped[1])
        additions = tuple([added.get(function) for function, _ in wrapped[1]]) if has_any else ()
        facts = "\n".join([shared, *map(_entry_facts, own)])
        units.append(RegisteredUnit(wrapped, facts, additions))
    return units


@per_job
def _wrapped_units(job: Job, file: SectionFile) -> list[WrappedUnit]:
    return [*units_of(file.wrapping, job), *_other_units(file, job)]


@per_job
def section_additions(job: Job, file: SectionFile) -> SectionAdditions:
    """What plug-ins add to the wrappers of a section."""
    if not has_additions(file, job):
        return NO_ADDITIONS
    # Few runs have plug-ins.
    from opwright.emit.backend.additions import additions_of

    return additions_of(_wrapped_units(job, file), file, job)


def _entry_facts(entry: BackendEntry) -> str:
    """What an entry says of its operator; most entries have no options.

    The values of plug-ins' keys are no part of it: what plug-ins make of them is among the additions.
    """
    options = entry.options
    if options.values:
        options = options._replace(values=NO_VALUES)
    return f"{entry.kernel!r} {'' if options == NO_ENTRY_OPTIONS else repr(options)}"


def _shared_facts(backend: ExternalBackend, name: str) -> str:
    """What the head of the file says that wrappers show."""
    options = backend.options._replace(manual=frozenset(), values=NO_VALUES, entry_values=NO_VALUES)
    manual = sorted([function.name.text for function in backend.options.manual])
    names = (name, backend.cpp_namespace, backend.class_name, backend.out_is_primary, backend.device_guard)
    return repr((*names, options, manual))


def _other_units(file: SectionFile, job: Job) -> list[WrappedUnit]:
    """The units with operators that PyTorch does not have."""
    indices = group_indices(job)
    others = [function for function in file.wrapping.kernels if function not in indices]
    units: list[KernelUnit] = [*dict.fromkeys([function.group or function for function in others])]
    wrapped = [(unit, file.wrapping.wrapped_overloads(unit)) for unit in units]
    return [(unit, kinds) for unit, kinds in wrapped if kinds]
