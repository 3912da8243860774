"""A section of a backend as the wrappers of its kernels see it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from opwright.backends.emit.kernel_signatures import checked_kernels
from opwright.backends.external_backend import BackendEntry, BackendSection, ExternalBackend
from opwright.backends.lazy_backend import RunLazyBackends
from opwright.emit.aten.backend import Backend, WrapperChoices
from opwright.emit.aten.register.wrapper import can_call_out_kernel
from opwright.emit.emitter import Job
from opwright.emit.extensions import NO_EXTENSIONS
from opwright.model.dispatch_key import ANY_DEVICE_ALLOCATION
from opwright.model.hooks import Implementation
from opwright.model.native_function import Kernel, NativeFunction
from opwright.model.wrapper_options import Fallback, Guard
from opwright.schema.function import SchemaKind
from opwright.source.diagnostic import Diagnostic
from opwright.source.records import NamedTuple

if TYPE_CHECKING:
    from opwright.emit.aten.register.additions import WrapperAdditions

#: The sections that PyTorch's generator knows.
REFERENCE_SECTIONS: Final = ("supported", "autograd")


class SectionAdditions(NamedTuple):
    """What plug-ins add to the wrappers of a section, and the faults of those that cannot."""

    by_function: Mapping[NativeFunction, WrapperAdditions]
    faults: tuple[Diagnostic, ...] = ()


NO_ADDITIONS: Final = SectionAdditions({})


class SectionFile:
    """A section of an external backend, with its source file.

    `entries` are those of the section by function. `wrapping` has the kernels of the section, and the choices that
    decide how they are wrapped.
    """

    __slots__ = ("_checked", "backend", "entries", "section", "wrapping")

    def __init__(self, backend: ExternalBackend, section: BackendSection) -> None:
        self.backend: Final = backend
        self.section: Final = section
        self._checked: Final = checked_kernels(backend, section)
        self.entries: Final = {entry.function: entry for entry in section.entries}
        options = backend.options
        derived = derived_overloads(backend, section)
        allocates = bool(derived) or any(entry.kernel.structured for entry in section.entries)
        copies_functional = options.derived_overloads and section.name in REFERENCE_SECTIONS
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
        """Name of the dispatch key in C++ names and file names."""
        return self.wrapping.display_name

    @property
    def is_autocast(self) -> bool:
        """Whether the kernels run before those of a device, to cast the arguments."""
        return self.section.name == "autocast"

    @property
    def has_fallback(self) -> bool:
        """Whether the file registers the CPU's kernels for all operators without a kernel."""
        options, name = self.backend.options, self.section.name
        return name in options.fallback_sections or (name == "supported" and options.fallback is Fallback.cpu)

    @property
    def wrapped_entries(self) -> list[BackendEntry]:
        """Entries with a wrapper."""
        return [entry for entry in self.section.entries if _is_wrapped(entry)]

    def entry_of(self, function: NativeFunction) -> BackendEntry:
        """Entry of an overload, or that of the overload whose kernel implements it."""
        entry = self.entries.get(function)
        if entry is not None:
            return entry
        assert function.group is not None, "other overloads have a wrapper because of a kernel of their group"
        return self.entries[self.wrapping.primary(function.group)]

    def _kernels(self) -> dict[NativeFunction, Kernel]:
        return {entry.function: entry.kernel for entry in self.wrapped_entries}

    def callee(self, entry: BackendEntry) -> str:
        """Function that wrappers call for an entry with one kernel."""
        return self._callee(entry) or f"{self.wrapping.owner(entry.kernel)}::{entry.kernel.name}"

    def _callees(self) -> Mapping[NativeFunction, str]:
        """What wrappers call that is not a member of the backend's class."""
        return {entry.function: callee for entry in self.wrapped_entries if (callee := self._callee(entry))}

    def _callee(self, entry: BackendEntry) -> str:
        return self._checked.get((entry.function, entry.options.callee)) or _callee(entry)

    def _choices(self) -> WrapperChoices:
        others = [entry.function for entry in self.section.entries if not _is_wrapped(entry)]
        return WrapperChoices(
            self.backend.options,
            {entry.function: entry.options for entry in self.section.entries},
            self.backend.options.manual.union(others),
        )


def has_additions(file: SectionFile, job: Job) -> bool:
    """Whether plug-ins add to wrappers of a section, or would have to. They do not to those of lazy tensors."""
    if job.of(RunLazyBackends).lazy_backends:
        return False
    return job.extensions is not NO_EXTENSIONS or any(
        entry.options.convention or entry.options.candidates for entry in file.section.entries
    )


def _is_wrapped(entry: BackendEntry) -> bool:
    return entry.options.implementation not in _NOT_WRAPPED and not entry.options.policy


def _callee(entry: BackendEntry) -> str:
    """Function or structured class that a wrapper uses, if it is not a member of the backend's class."""
    kernel, class_name = entry.kernel, entry.options.class_name
    if entry.options.callee or not class_name:
        return entry.options.callee
    return f"{kernel.namespace}::{class_name}::{'structured_' if kernel.structured else ''}{kernel.name}"


#: The implementations that are one function for all operators.
_NOT_WRAPPED: Final = (Implementation.fallback, Implementation.refused)

#: The implementations that are functions which other wrappers can call.
_FUNCTIONS: Final = (Implementation.kernel, Implementation.inherited)


def derived_overloads(backend: ExternalBackend, section: BackendSection) -> frozenset[NativeFunction]:
    """Functional and in-place overloads of dense tensors whose wrappers call the kernel of the out overload.

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
