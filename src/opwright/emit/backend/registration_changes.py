"""What plug-ins change of the registrations in the source of a section."""

from __future__ import annotations

from collections.abc import Sequence

from opwright.emit.aten.backend import KernelWrapper
from opwright.emit.backend.additions import at_entry, wrapper_facts
from opwright.emit.backend.section_file import SectionFile
from opwright.emit.emitter import Job
from opwright.emit.registrations import ChangedRegistrations, Registration
from opwright.source.diagnostic import Diagnostic, Fault

__all__ = ["changed_registrations"]


def changed_registrations(
    wrapped: Sequence[tuple[KernelWrapper, Registration]], others: Sequence[Registration], file: SectionFile, job: Job
) -> ChangedRegistrations:
    """The registrations of wrappers, and then the others. A change that fails is not tried again."""
    changed: list[Registration] = []
    faults: list[Diagnostic] = []
    failed: set[object] = set()
    for wrapper, registration in (*wrapped, *[(None, other) for other in others]):
        facts = None if wrapper is None else wrapper_facts(wrapper, file, job)
        registrations = [registration]
        for extension in job.extensions.registration_changes:
            if extension in failed:
                continue
            try:
                results = [extension.value(each, facts) for each in registrations]
            except Fault as fault:
                failed.add(extension)
                entry = None if wrapper is None else file.entry_of(wrapper.function)
                faults.append(fault.diagnostic if entry is None else at_entry(fault.diagnostic, entry))
                continue
            registrations = [each for result in results for each in _as_sequence(result)]
        changed += registrations
    return ChangedRegistrations(changed, tuple(faults))


def _as_sequence(result: Registration | Sequence[Registration]) -> Sequence[Registration]:
    # A registration is a tuple itself.
    return (result,) if isinstance(result, Registration) else result
