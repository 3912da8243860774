"""A section of a backend as the wrappers of its kernels see it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from opwright.backends.derived_wrappers import can_call_out_kernel
from opwright.backends.emit.kernel_signatures import checked_kernels
from opwright.backends.external_backend import BackendEntry, BackendSection, ExternalBackend
from opwright.backends.file_backend import FileBackend
from opwright.backends.hooks import Implementation
from opwright.backends.kernel_calls import WrapperAdditions
from opwright.backends.wrapper_options import Fallback, Guard
from opwright.model.dispatch_key import ANY_DEVICE_ALLOCATION
from opwright.model.native_function import NativeFunction
from opwright.schema.function import SchemaKind
from opwright.source.diagnostic import Diagnostic
from opwright.source.records import NamedTuple

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

    def __init__(self, backend: ExternalBackend, section: BackendSection) -> None:
        self.backend: Final = backend
        self.section: Final = section
        self._checked: Final = checked_kernels(backend, section)
        self.entries: Final = {entry.function: entry for entry in section.entries}
        options = backend.options
        wrapped = {
            function: entry
            for function, entry in self.entries.items()
            if entry.options.implementation not in _NOT_WRAPPED and not entry.options.policy
        }
        derived = derived_overloads(backend, section)
        allocates = bool(derived) or any(entry.kernel.structured for entry in section.entries)
        copies_functional = options.derived_overloads and section.name in REFERENCE_SECTIONS
        self.wrapping: Final = FileBackend(
            section.key,
            {function: entry.kernel for function, entry in wrapped.items()},
            # Only dense tensors, and those of their Autograd key, can be copied from one overload to another.
            out_is_primary=backend.out_is_primary or not copies_functional,
            external=True,
            device_guard=backend.device_guard and not self.is_autocast,
            class_name=backend.class_name,
            generates=False,
            callees={function: callee for function, entry in wrapped.items() if (callee := self._own_callee(entry))},
            shown_name=backend.display_key(section.key),
            default_allocation=(options.allocation or ANY_DEVICE_ALLOCATION) if allocates else None,
            derived=derived,
            guard=(options.guard or Guard()).type,
            head=options,
            entries={function: entry.options for function, entry in self.entries.items()},
            unwrapped=options.manual.union(self.entries.keys() - wrapped.keys()),
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

    def entry_of(self, function: NativeFunction) -> BackendEntry:
        """Entry of an overload, or that of the overload whose kernel implements it."""
        entry = self.entries.get(function)
        if entry is not None:
            return entry
        assert function.group is not None, "other overloads have a wrapper because of a kernel of their group"
        return self.entries[self.wrapping.primary(function.group)]

    def callee(self, entry: BackendEntry) -> str:
        """Function that wrappers call for an entry with one kernel."""
        return self._own_callee(entry) or f"{self.wrapping.owner(entry.kernel)}::{entry.kernel.name}"

    def _own_callee(self, entry: BackendEntry) -> str:
        """Function or structured class that a wrapper uses, if it is not a member of the backend's class."""
        kernel, callee, class_name = entry.kernel, entry.options.callee, entry.options.class_name
        if callee or not class_name:
            return self._checked.get((entry.function, callee), callee)
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
