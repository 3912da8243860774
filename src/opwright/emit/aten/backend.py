"""Kernels of one dispatch key, and the wrappers that PyTorch makes for them.

Every overload with a kernel has a wrapper. Some overloads have a wrapper without a kernel: the shape functions of
structured operations (`Meta`), the forms of structured operations that call the out overload
(`CompositeExplicitAutogradNonFunctional`), in-place functions that refuse meta tensors, and, in backends with
functional kernels, the out and in-place overloads that copy the result of the functional overload.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, TypeAlias

from opwright.convention import dispatcher, native
from opwright.cpp.binding import Expression
from opwright.cpp.signature import Signature
from opwright.cpp.text import indent
from opwright.cpp.translation import AvailableValue, translated_call
from opwright.emit.emitter import FragmentContext, Job, per_job
from opwright.model.dispatch_key import (
    ANY_DEVICE_GUARD,
    COMPOSITE_EXPLICIT_NON_FUNCTIONAL,
    META,
    Allocation,
    DispatchKey,
)
from opwright.model.library import Library
from opwright.model.native_function import DeviceCheck, Kernel, NativeFunction, NativeFunctionsGroup
from opwright.schema.function import SchemaKind
from opwright.source import codes
from opwright.source.diagnostic import Fault
from opwright.source.records import Copyable, NamedTuple, frozen_fields, not_fingerprinted

if TYPE_CHECKING:
    from dataclasses import KW_ONLY


KernelUnit: TypeAlias = "NativeFunction | NativeFunctionsGroup"
"""A group of overloads that share their implementation, or an overload on its own."""


class WrapperKind(enum.Enum):
    """How a wrapper gets its result."""

    kernel = "calls the kernel"
    structured = "runs the structured kernel: meta, then impl"
    refusal = "refuses in-place functions on meta tensors without a kernel"
    functional = "copies the result of the functional overload"
    out = "calls the kernel of the out overload"

    # Units hold kinds, and an enumeration's hash is a Python function.
    __hash__ = object.__hash__


WrappedUnit: TypeAlias = tuple[KernelUnit, tuple[tuple[NativeFunction, WrapperKind], ...]]
"""A unit with the overloads that get a wrapper, and the kind of each wrapper."""


class KernelWrapper(NamedTuple):
    """A wrapper's name, signature and kind."""

    function: NativeFunction
    kind: WrapperKind
    name: str
    signature: Signature


class DeviceHandling(NamedTuple):
    """Whether a wrapper checks that tensors are on one device, and whether it makes the device the current one.

    `guards_outputs`: the class of the outputs of a structured kernel may hold a guard.
    """

    check: bool
    guard: bool
    guards_outputs: bool = True


#: Why the fingerprint of a backend leaves out its tables by overload: it is the same for all units.
OF_UNITS: Final = "fragments look up overloads of their units, which hold the rows or the kernels of these"


@not_fingerprinted(kernels=OF_UNITS, callees=OF_UNITS)
@frozen_fields
class Backend(Copyable):
    """Kernels of one dispatch key, and the choices that decide how they are wrapped.

    `out_is_primary`: the out overload implements a group, otherwise the functional overload does. `external` kernels
    are defined outside PyTorch: they have the dispatcher's convention, and are static members of `class_name` if it is
    given. `device_guard`: wrappers check devices and set the current one. `symint`: wrappers take symbolic integers.
    `generates`: keys whose wrappers come from shape functions have them; by default if an entry names the key.
    `callees`: expressions that wrappers call instead of the names of kernels, or the classes of structured kernels.
    `default_allocation`: how wrappers of structured kernels get outputs if the key itself does not say, under a device
    guard whose type is `guard`. `shown_name` stands in C++ names instead of the key's name. `checks` are the statements
    that the wrappers of some overloads begin with, and `passed` the expressions that they pass to kernels in place of
    some arguments. Guests whose files say more of wrappers have classes of their own.
    """

    key: DispatchKey
    kernels: Mapping[NativeFunction, Kernel]
    _: KW_ONLY
    out_is_primary: bool = True
    external: bool = False
    device_guard: bool = False
    symint: bool = True
    class_name: str | None = None
    generates: bool | None = None
    default_allocation: Allocation | None = None
    callees: Mapping[NativeFunction, str] = MappingProxyType({})
    shown_name: str = ""
    guard: str = ANY_DEVICE_GUARD
    checks: Mapping[NativeFunction, str] = MappingProxyType({})
    passed: Mapping[NativeFunction, Mapping[str, str]] = MappingProxyType({})

    @property
    def display_name(self) -> str:
        """What stands for the key in C++ names."""
        return self.shown_name or self.key.name

    @property
    def allocation(self) -> Allocation | None:
        """How wrappers of structured kernels get outputs."""
        return self.key.allocation or self.default_allocation

    @property
    def generates_kernels(self) -> bool:
        """Whether keys whose wrappers come from shape functions have them."""
        return bool(self.kernels) if self.generates is None else self.generates

    @property
    def guard_of_wrappers(self) -> str:
        """Type of the guards that wrappers open, empty for PyTorch's own."""
        return ""

    @property
    def initialization(self) -> str:
        """Statement that initializes the device, in wrappers of functions that make tensors."""
        return ""

    def device_handling(self, function: NativeFunction) -> DeviceHandling:
        """What the wrapper of an overload does about devices."""
        check = self.device_guard and function.device_check is not DeviceCheck.NoCheck
        return DeviceHandling(check, self.device_guard and function.device_guard)

    def has_hooks(self, function: NativeFunction) -> bool:
        """Whether the wrapper of an overload has hooks of its author's."""
        del function
        return False

    def first_statements(self, wrapper: KernelWrapper) -> str:
        """Lines of a wrapper before the device check."""
        check = self.checks.get(wrapper.function, "")
        return f"{indent(check)}\n" if check else ""

    def surrounded(self, wrapper: KernelWrapper, body: str, call: str = "") -> str:
        """Statements of a wrapper from those that compute and return its result, which may be those of a call alone."""
        del wrapper, call
        return body

    def kernel_statements(self, wrapper: KernelWrapper) -> str:
        """Statements that call the kernel and return its result, with what is around the call."""
        function = wrapper.function
        passed = self.passed.get(function, {})
        given: list[AvailableValue] = [
            Expression(passed[binding.name], binding.role, binding.type) if binding.name in passed else binding
            for binding in wrapper.signature.bindings
        ]
        call = translated_call(self.callee(function), tuple(given), self.kernel_signature(function).bindings)
        return self.surrounded(wrapper, f"  return {call};", call)

    def callee(self, function: NativeFunction) -> str:
        """Function that wrappers call for an overload with a kernel."""
        kernel = self.kernels[function]
        return self.callees.get(function) or f"{self.owner(kernel)}::{kernel.name}"

    def derived_definition(self, wrapper: KernelWrapper) -> str:
        """Definition of a wrapper that gets its result from another overload, which no backend of PyTorch has."""
        raise AssertionError(wrapper.kind)

    def kernel_signature(self, function: NativeFunction) -> Signature:
        """Signature of an overload's kernel."""
        return kernel_signature(function, self.kernels[function], external=self.external)

    @property
    def structured_guard(self) -> str:
        """Type of the guard that the class of a structured kernel's outputs has; empty if it has none."""
        if self.external:
            return self.guard if self.device_guard else ""
        return self.key.structured_guard or ("" if self.allocation is self.key.allocation else self.guard)

    @property
    def moves_guard(self) -> bool:
        """Whether outputs of structured kernels move that guard to their device."""
        if self.external:
            return self.device_guard
        has_own = self.key.moves_guard and bool(self.key.structured_guard)
        return has_own or self.allocation is not self.key.allocation

    def primary(self, unit: KernelUnit) -> NativeFunction:
        """Overload whose kernel implements the whole unit."""
        if isinstance(unit, NativeFunction):
            return unit
        return unit.out if self.out_is_primary else unit.functional

    def kernel(self, unit: KernelUnit) -> Kernel | None:
        """Kernel that implements the whole unit, if there is one."""
        return self.kernels.get(self.primary(unit))

    def owner(self, kernel: Kernel) -> str:
        """Namespace or the class that a kernel is a member of."""
        return kernel.namespace if self.class_name is None else f"{kernel.namespace}::{self.class_name}"

    def wrapped_overloads(self, unit: KernelUnit) -> tuple[tuple[NativeFunction, WrapperKind], ...]:
        """Overloads of a unit that get a wrapper, and the kind of each wrapper."""
        if isinstance(unit, NativeFunction):
            kind = self.wrapper_kind(unit)
            return () if kind is None else ((unit, kind),)
        members = unit.functions()
        if unit.structured and self.runs_structured(unit):
            if self.key is COMPOSITE_EXPLICIT_NON_FUNCTIONAL:
                # These wrappers call the out overload, which has to come from the backend.
                members.remove(unit.out)
            return tuple([(member, self._structured_kind(member, unit)) for member in members])
        kinds = [(member, self.wrapper_kind(member)) for member in members]
        return tuple([(member, kind) for member, kind in kinds if kind is not None])

    def _structured_kind(self, function: NativeFunction, group: NativeFunctionsGroup) -> WrapperKind:
        """Kind of the wrapper of a member of a structured group: outside PyTorch it may have its own kernel."""
        has_own_kernel = self.external and function is not group.out and function in self.kernels
        return WrapperKind.kernel if has_own_kernel else WrapperKind.structured

    def runs_structured(self, group: NativeFunctionsGroup) -> bool:
        """Whether a structured group's wrappers run `meta` and `impl`.

        Raises Fault for a kernel under a key whose wrappers are generated from the shape function.
        """
        kernel = self.kernel(group)
        if not self.wraps_all_structured:
            return kernel is not None and kernel.structured
        if kernel is not None:
            message = (
                f"structured `{group.out.name}` has a kernel for {self.key}, which is generated from its shape function"
            )
            raise Fault.at(codes.MADE_KERNEL, message, group.out.entry, help=f"delete `{self.key}: {kernel.name}`")
        return True

    @property
    def wraps_all_structured(self) -> bool:
        """Whether every structured group has wrappers, even without a kernel.

        In PyTorch's files, a key that no entry names has none.
        """
        return bool(self.key.generated_suffix) and self.generates_kernels

    def wrapper_kind(self, function: NativeFunction) -> WrapperKind | None:
        """Kind of the wrapper of an overload without a structured kernel; None if it has no wrapper."""
        if function.manual_kernel_registration:
            return None
        if function in self.kernels:
            return WrapperKind.kernel
        return WrapperKind.refusal if self.key is META and self.generates_kernels and is_refused(function) else None


def public_namespace(kernel: Kernel | None, library: Library) -> str:
    """The C++ namespace of what is generated for a kernel, or for a unit without one.

    In PyTorch it is the one around the kernel's namespace `native`. In other libraries, where an entry may name kernels
    of any namespace, it is that of the public functions.
    """
    if kernel is None or not library.kernels_in_native:
        return library.api
    return kernel.namespace.replace("::native", "")


def is_refused(function: NativeFunction) -> bool:
    """Whether an in-place function without a meta kernel accepts only meta tensors, which have no values to change."""
    return (
        function.kind is SchemaKind.inplace and len(function.schema.returns) == 1 and not function.has_composite_kernel
    )


def kernel_signature(function: NativeFunction, kernel: Kernel, *, external: bool = False) -> Signature:
    """Signature of a kernel: the native one in PyTorch, the dispatcher's outside PyTorch.

    Raises Fault if the kernel's name says that it takes symbolic integers and the schema has none.
    """
    if kernel.symint and not function.schema.has_symint:
        message = f"kernel `{kernel.name}` takes symbolic integers, `{function.name}` has none"
        raise Fault.at(codes.SYMINT_KERNEL, message, function.entry)
    if external:
        return dispatcher.signature(function) if kernel.symint else dispatcher.concrete_signature(function)
    return native.symint_signature(function) if kernel.symint else native.signature(function)


def has_functions_header(key: DispatchKey, context: FragmentContext) -> bool:
    """Whether the run writes `{Key}Functions.h`."""
    return context.rules.has_functions_header(key) or key in context.options.static_dispatch


@per_job
def backends(job: Job) -> Sequence[Backend]:
    """PyTorch's backends for which the run writes files, in order."""
    wanted = job.options.backends
    return [
        Backend(key, job.catalog.kernels[key], device_guard=key.device_guard)
        for key in job.catalog.keys
        if wanted is None or key.is_composite or key in wanted
    ]


@per_job
def wrapped_units(job: Job) -> Mapping[DispatchKey, Sequence[WrappedUnit]]:
    """Units with wrappers of each backend of the run, in the catalog's order."""
    return {backend.key: units_of(backend, job) for backend in backends(job)}


def units_of(backend: Backend, job: Job) -> list[WrappedUnit]:
    """Units of the catalog with wrappers of one backend, in the catalog's order."""
    indices = group_indices(job)
    chosen = {indices[function] for function in backend.kernels if function in indices}
    if backend.wraps_all_structured:
        chosen.update(indices[group.out] for group in job.catalog.structured_groups)
    if backend.key is META:
        chosen.update(indices[function] for function in job.catalog.functions if is_refused(function))
    groups = job.catalog.groups
    units = ((groups[index], backend.wrapped_overloads(groups[index])) for index in sorted(chosen))
    return [(unit, wrapped) for unit, wrapped in units if wrapped]


@per_job
def group_indices(job: Job) -> dict[NativeFunction, int]:
    """Index of each function's group in the catalog."""
    return {function: index for index, unit in enumerate(job.catalog.groups) for function in members(unit)}


def members(unit: KernelUnit) -> Iterable[NativeFunction]:
    """Overloads of a unit."""
    return (unit,) if isinstance(unit, NativeFunction) else unit.functions()


@per_job
def units_by_root(job: Job) -> Mapping[str, Sequence[KernelUnit]]:
    """Units of each root name, in the catalog's order."""
    units: dict[str, list[KernelUnit]] = {name: [] for name in job.by_root}
    for unit in job.catalog.groups:
        units[unit.root_name].append(unit)
    return {name: tuple(group) for name, group in units.items()}
