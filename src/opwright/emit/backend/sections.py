"""The sections of a run's external backends, as the wrappers of kernels see them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from opwright.emit.aten.backend import (
    Backend,
    KernelUnit,
    WrappedUnit,
    WrapperChoices,
    group_indices,
    members,
    units_of,
)
from opwright.emit.aten.register.out_kernels import can_call_out_kernel
from opwright.emit.backend.kernel_checks import checked_kernels
from opwright.emit.emitter import Job, per_job
from opwright.model.dispatch_key import ANY_DEVICE_ALLOCATION
from opwright.model.external_backend import (
    NO_ENTRY_OPTIONS,
    NO_HEAD_OPTIONS,
    BackendEntry,
    BackendSection,
    ExternalBackend,
    Fallback,
    Guard,
    Implementation,
)
from opwright.model.extra_values import NO_VALUES
from opwright.model.native_function import Kernel, NativeFunction
from opwright.schema.function import SchemaKind
from opwright.source.named_tuple import NamedTuple

__all__ = ["RegisteredUnit", "SectionFile", "registered_units", "section_files"]

#: The sections that PyTorch's own generator knows.
_REFERENCE_SECTIONS: Final = ("supported", "autograd")


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
        copies_functional = options.derived_overloads and section.name in _REFERENCE_SECTIONS
        self.wrapping: Final = Backend(
            section.key,
            self._kernels(),
            # Only dense tensors, and those of their Autograd key, can be copied from one overload to another.
            out_is_primary=backend.out_is_primary or not copies_functional,
            external=True,
            device_guard=backend.device_guard and not self.is_autocast,
            class_name=backend.class_name,
            generates_kernels=False,
            callees=self._callees(),
            display_name=backend.display_key(section.key),
            allocation=(options.allocation or ANY_DEVICE_ALLOCATION) if allocates else None,
            derived=derived,
            guard=(options.guard or Guard()).type,
            choices=self._choices(),
        )

    @property
    def name(self) -> str:
        """The name of the dispatch key in C++ names and file names."""
        return self.wrapping.display_name

    @property
    def is_autocast(self) -> bool:
        """Whether the kernels run before those of a device, to cast the arguments."""
        return self.section.name == "autocast"

    @property
    def has_fallback(self) -> bool:
        """Whether the file registers the CPU's kernels for all operators without a kernel."""
        return self.section.name == "supported" and self.backend.options.fallback is Fallback.cpu

    @property
    def wrapped_entries(self) -> list[BackendEntry]:
        """The entries with a wrapper."""
        return [entry for entry in self.section.entries if _is_wrapped(entry)]

    def _kernels(self) -> dict[NativeFunction, Kernel]:
        return {entry.function: entry.kernel for entry in self.wrapped_entries}

    def _callees(self) -> Mapping[NativeFunction, str]:
        """What wrappers call that is not a member of the backend's class."""
        checked = checked_kernels(self.backend, self.section)
        return {
            entry.function: checked.get(entry.function) or callee
            for entry in self.wrapped_entries
            if (callee := _callee(entry))
        }

    def _choices(self) -> WrapperChoices:
        others = [entry.function for entry in self.section.entries if not _is_wrapped(entry)]
        return WrapperChoices(
            self.backend.options,
            {entry.function: entry.options for entry in self.section.entries},
            self.backend.options.manual.union(others),
        )


def _is_wrapped(entry: BackendEntry) -> bool:
    return entry.options.implementation is not Implementation.fallback and not entry.options.policy


def _callee(entry: BackendEntry) -> str:
    """The function or structured class that a wrapper uses, if it is not a member of the backend's class."""
    kernel, class_name = entry.kernel, entry.options.class_name
    if entry.options.callee or not class_name:
        return entry.options.callee
    return f"{kernel.namespace}::{class_name}::{'structured_' if kernel.structured else ''}{kernel.name}"


#: The implementations that are functions which other wrappers can call.
_FUNCTIONS: Final = (Implementation.kernel, Implementation.inherited)


def derived_overloads(backend: ExternalBackend, section: BackendSection) -> frozenset[NativeFunction]:
    """The functional and in-place overloads of dense tensors whose wrappers call the kernel of the out overload.

    Those with a kernel of their own do not, nor those that PyTorch implements with other operators.
    """
    options = backend.options
    derives = options.derives_from_out and options.derived_overloads
    if not (backend.out_is_primary and derives and section.key is backend.key):
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
            section.name not in _REFERENCE_SECTIONS for section in backend.sections
        )
        if is_extended or (supported is not None and supported.entries):
            for section in backend.sections:
                file = SectionFile(backend, section)
                if section.entries or file.has_fallback:
                    yield file


class RegisteredUnit(NamedTuple):
    """A unit with wrappers, and what the file says of its overloads besides their names.

    `facts` are the texts that decide its wrappers, because the functions of a unit do not know the backend's kernels.
    """

    wrapped: WrappedUnit
    facts: tuple[str, ...]


def registered_units(file: SectionFile, job: Job) -> Sequence[RegisteredUnit]:
    """The units of a section, in the catalog's order; those of other libraries follow, in the order of the file."""
    return _registered_units(job, file)


@per_job
def _registered_units(job: Job, file: SectionFile) -> Sequence[RegisteredUnit]:
    entries = {entry.function: entry for entry in file.section.entries}
    shared = _shared_facts(file.backend, file.name)
    units = []
    for wrapped in (*units_of(file.wrapping, job), *_other_units(file, job)):
        own = [entries[function] for function in members(wrapped[0]) if function in entries]
        units.append(RegisteredUnit(wrapped, (shared, *map(_entry_facts, own))))
    return units


def _entry_facts(entry: BackendEntry) -> str:
    """What an entry says of its operator; most entries have no options."""
    options = "" if entry.options == NO_ENTRY_OPTIONS else repr(entry.options)
    return f"{entry.kernel!r} {options}"


def _shared_facts(backend: ExternalBackend, name: str) -> str:
    """What the head of the file says that wrappers show."""
    options = backend.options._replace(manual=frozenset())
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
