"""Wrappers of kernels as backend files describe them, in the head and in entries."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

from opwright.backends import backend_codes
from opwright.backends.derived_wrappers import copies_results, copying_wrapper_definition, out_wrapper_definition
from opwright.backends.hook_statements import Surroundings, applies, statements_before_check, surrounded_statements
from opwright.backends.hooks import Hook, Implementation
from opwright.backends.kernel_calls import WrapperAdditions, chosen_kernel_body
from opwright.backends.wrapper_options import NO_ENTRY_OPTIONS, NO_HEAD_OPTIONS, EntryOptions, HeadOptions
from opwright.cpp.signature import Signature
from opwright.emit.aten.backend import OF_UNITS, Backend, DeviceHandling, KernelWrapper, WrapperKind, kernel_signature
from opwright.model.native_function import DeviceCheck, Kernel, NativeFunction
from opwright.schema.function import SchemaKind
from opwright.source.diagnostic import Fault
from opwright.source.records import NamedTuple, frozen_fields, not_fingerprinted

if TYPE_CHECKING:
    from dataclasses import KW_ONLY


class OverloadChoices(NamedTuple):
    """What the tables of a backend have for one overload."""

    kernel: Kernel | None
    callee: str | None
    options: EntryOptions | None
    is_derived: bool
    is_unwrapped: bool
    additions: WrapperAdditions | None


@not_fingerprinted(entries=OF_UNITS, unwrapped=OF_UNITS, derived=OF_UNITS, additions=OF_UNITS)
@frozen_fields
class FileBackend(Backend):
    """Kernels of a section of a backend file.

    `head` is what the file says of all wrappers, and `entries` are the options of its entries. `unwrapped` overloads
    have no wrapper, because something else is registered for them. `derived` are the functional and in-place overloads
    without a kernel whose wrappers call the kernel of the out overload. `additions` are those of plug-ins.
    """

    _: KW_ONLY
    head: HeadOptions = NO_HEAD_OPTIONS
    entries: Mapping[NativeFunction, EntryOptions] = MappingProxyType({})
    unwrapped: frozenset[NativeFunction] = frozenset()
    derived: frozenset[NativeFunction] = frozenset()
    additions: Mapping[NativeFunction, WrapperAdditions] = MappingProxyType({})

    def overload_choices(self, function: NativeFunction) -> OverloadChoices:
        """Rows of all tables for an overload."""
        return OverloadChoices(
            self.kernels.get(function),
            self.callees.get(function),
            self.entries.get(function),
            function in self.derived,
            function in self.unwrapped,
            self.additions.get(function),
        )

    def entry_options(self, function: NativeFunction) -> EntryOptions:
        """Options of an overload's entry, or of the entry whose structured kernel implements the overload."""
        options = self.entries.get(function)
        if options is None and function.group is not None:
            options = self.entries.get(self.primary(function.group))
        return options or NO_ENTRY_OPTIONS

    def hooks(self, function: NativeFunction) -> tuple[Hook, ...]:
        """Hooks of the wrapper of an overload: those of the file, in its order, and then those of plug-ins."""
        hooks = self.head.hooks
        if hooks:
            implementation = self.entry_options(function).implementation
            hooks = tuple([hook for hook in hooks if applies(hook, function, self, implementation)])
        added = self.additions.get(function)
        return hooks if added is None else (*hooks, *added.hooks)

    def has_hooks(self, function: NativeFunction) -> bool:
        """Whether the wrapper of an overload has hooks."""
        return bool(self.hooks(function))

    @property
    def guard_of_wrappers(self) -> str:
        """Type of the guards that wrappers open, empty for PyTorch's own."""
        return "" if self.head.guard is None else self.head.guard.type

    @property
    def initialization(self) -> str:
        """Statement that initializes the device, in wrappers of functions that make tensors."""
        return self.head.lazy_init

    def device_handling(self, function: NativeFunction) -> DeviceHandling:
        """What the wrapper of an overload does about devices.

        The operator says what wrappers with a guard do; the file may say otherwise for all operators or for one.
        """
        head, entry = self.head, self.entry_options(function)
        is_guarded = self.device_guard and entry.device_guard is not False
        check = entry.device_check
        if check is None:
            check = is_guarded if head.device_check is None else head.device_check
            check = check and function.device_check is not DeviceCheck.NoCheck
        guard = is_guarded and (function.device_guard or entry.device_guard is True)
        return DeviceHandling(check, guard, entry.device_guard is not False)

    def first_statements(self, wrapper: KernelWrapper) -> str:
        """Lines of a wrapper before the device check."""
        own = Backend.first_statements(self, wrapper)
        return own + statements_before_check(wrapper, self, self.hooks(wrapper.function))

    def surrounded(self, wrapper: KernelWrapper, body: str, call: str = "") -> str:
        """Statements of a wrapper from those that compute and return its result, with what is around them."""
        hooks = self.hooks(wrapper.function)
        cpu_on_error = self.entry_options(wrapper.function).cpu_on_error
        if not hooks and not cpu_on_error:
            return body
        return surrounded_statements(wrapper, self, Surroundings(hooks, cpu_on_error), body, call)

    def kernel_statements(self, wrapper: KernelWrapper) -> str:
        """Statements that call the kernel, or those that plug-ins choose among, and return its result."""
        added = self.additions.get(wrapper.function)
        if added is None or not added.callees:
            return Backend.kernel_statements(self, wrapper)
        return self.surrounded(wrapper, chosen_kernel_body(wrapper, self, added))

    def derived_definition(self, wrapper: KernelWrapper) -> str:
        """Definition of a wrapper that gets its result from another overload."""
        if wrapper.kind is WrapperKind.out:
            return out_wrapper_definition(wrapper, self, self.additions.get(wrapper.function))
        return copying_wrapper_definition(wrapper, self)

    def kernel_signature(self, function: NativeFunction) -> Signature:
        """Signature of an overload's kernel: the native one for kernels of PyTorch."""
        is_native = self.entry_options(function).implementation is Implementation.inherited
        return kernel_signature(function, self.kernels[function], external=self.external and not is_native)

    def wrapper_kind(self, function: NativeFunction) -> WrapperKind | None:
        """Kind of the wrapper of an overload without a structured kernel; None if it has no wrapper."""
        if function.manual_kernel_registration or function in self.unwrapped:
            return None
        if function not in self.kernels and function in self.derived:
            return WrapperKind.out
        kind, group = Backend.wrapper_kind(self, function), function.group
        if kind is not None or self.out_is_primary or group is None or function.kind is SchemaKind.functional:
            return kind
        if group.functional not in self.kernels:
            return None
        if not copies_results(function):
            functional = group.functional.name
            message = f"`{function.name}` has no kernel for {self.key}, and cannot copy the result of `{functional}`"
            raise Fault.at(backend_codes.COPIED_RESULT, message, function.entry)
        return WrapperKind.functional


@frozen_fields
class OwnBackend(FileBackend):
    """Kernels of the operators that a backend file has of its own, whose wrappers open guards if `opens_guards`."""

    _: KW_ONLY
    opens_guards: bool = True

    def entry_options(self, function: NativeFunction) -> EntryOptions:
        """What the head says of the wrapper of an overload."""
        kernel = self.kernels.get(function)
        if kernel is None and function.group is not None:
            kernel = self.kernels.get(function.group.out)
        if kernel is None:
            return NO_ENTRY_OPTIONS
        implementation = Implementation.structured if kernel.structured else Implementation.kernel
        return EntryOptions(implementation, device_guard=None if self.opens_guards else False)
