"""What a call of an operator reaches on a backend's device, and the dispatcher's table of the operator.

The rules are those by which PyTorch fills its tables. A kernel that is registered for the key itself comes first, then
those of the composite keys, then that for Autograd, then the fallback of the key.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator, Mapping, Set
from typing import Final

from opwright.backends.dispatch.registrations import RegisteredKernel, Registrations
from opwright.backends.dispatch.runtime_keys import (
    KeyFallback,
    KeyKind,
    RuntimeKey,
    backends_of,
    composite_keys,
    runtime_keys,
)
from opwright.backends.external_backend import BackendEntry
from opwright.backends.hooks import Implementation
from opwright.backends.operator_names import (
    CALLED_BY_COMPOSITES,
    CALLED_ON_OTHER_DEVICES,
    COMPOSITES_OF_OWN_DEVICES,
    LACKED_BY_CPU,
    NEEDED,
    RAISING_COMPOSITES,
    STAND_INS,
)
from opwright.backends.operator_records import ABSENT, OperatorStatus, Reach, shown_name
from opwright.emit.aten.backend import WrapperKind
from opwright.emit.aten.composite_kernels import view_copy_kernel
from opwright.model.catalog import Catalog
from opwright.model.dispatch_key import (
    COMPOSITE_EXPLICIT,
    COMPOSITE_EXPLICIT_NON_FUNCTIONAL,
    COMPOSITE_IMPLICIT,
    COMPOSITE_IMPLICIT_NESTED,
    CPU,
    DispatchKey,
)
from opwright.model.native_function import Kernel, NativeFunction
from opwright.release.rules import Rules
from opwright.source.records import NamedTuple, frozen_fields

_STATUS_OF_ENTRIES: Final = {
    Implementation.kernel: OperatorStatus.kernel,
    Implementation.structured: OperatorStatus.structured,
    Implementation.stub: OperatorStatus.stub,
    Implementation.inherited: OperatorStatus.inherited,
    Implementation.fallback: OperatorStatus.fallback,
    Implementation.refused: OperatorStatus.missing,
}


@frozen_fields
class DeviceKernels:
    """What a backend registers for one dispatch key.

    `entries` are the operators that the file names, and `wrapped` those with a generated wrapper. `manual` are the
    operators that the author registers by hand. With `has_fallback`, the CPU's kernels serve all others.
    """

    key: DispatchKey
    entries: Mapping[NativeFunction, BackendEntry]
    wrapped: Mapping[NativeFunction, WrapperKind]
    manual: frozenset[NativeFunction] = frozenset()
    has_fallback: bool = False

    def has_kernel(self, function: NativeFunction) -> bool:
        """Whether a kernel is registered for the operator itself."""
        return function in self.entries or function in self.wrapped or function in self.manual


def composite_key(function: NativeFunction, key: DispatchKey) -> DispatchKey | None:
    """Composite key whose kernel serves a function under a device's key that has none; None if there is none.

    >>> import opwright
    >>> from opwright.model.dispatch_key import key_named
    >>> catalog, key = opwright.load(), key_named("PrivateUse1")
    >>> composite_key(catalog["add.Tensor"], key), composite_key(catalog["reshape"], key)
    (<dispatch key CompositeExplicitAutogradNonFunctional>, <dispatch key CompositeImplicitAutograd>)
    """
    for composite in composite_keys(key):
        if composite in function.kernels or (
            composite is COMPOSITE_EXPLICIT_NON_FUNCTIONAL and _out_of_structured(function) is not None
        ):
            return composite
    return None


def _out_of_structured(function: NativeFunction) -> NativeFunction | None:
    """Out overload that the generated kernel of another overload of a structured operation calls."""
    group = function.group
    if group is None or not function.in_structured_group or function is group.out:
        return None
    return group.out


class Dispatch:
    """Answers what calls of operators reach on the device of a backend."""

    def __init__(self, kernels: DeviceKernels, catalog: Catalog, rules: Rules) -> None:
        self.kernels: Final = kernels
        self._catalog: Final = catalog
        self._raising: Final = RAISING_COMPOSITES.in_release(rules) | COMPOSITES_OF_OWN_DEVICES.in_release(rules)
        self._called: Final = {
            **CALLED_BY_COMPOSITES.in_release(rules),
            **CALLED_ON_OTHER_DEVICES.in_release(rules),
        }
        self._lacked: Final = LACKED_BY_CPU.in_release(rules)
        self._needed: Final = NEEDED.in_release(rules)
        self._stand_ins: Final = STAND_INS.in_release(rules)
        self._reaches: Final[dict[NativeFunction, Reach]] = {}

    def reach(self, function: NativeFunction) -> Reach:
        """What a call of the function reaches."""
        reach = self._reaches.get(function)
        if reach is None:
            reach = self._reaches[function] = self._own(function) or self._of_pytorch(function)
        return reach

    def is_absent(self, function: NativeFunction) -> bool:
        """Whether a call of the function raises an error because nothing implements it."""
        return self.reach(function).status in ABSENT

    def _own(self, function: NativeFunction) -> Reach | None:
        """What the backend registers for the function itself."""
        kernels = self.kernels
        key = kernels.key.name
        entry = kernels.entries.get(function)
        if entry is not None:
            status = _STATUS_OF_ENTRIES[entry.options.implementation]
            if status is OperatorStatus.fallback:
                return self._fallback(function, has_fallback=True)
            if status is OperatorStatus.missing:
                return Reach(status)
            return Reach(status, key, entry.options.callee or f"{entry.kernel.namespace}::{entry.kernel.name}")
        own_kernel = function.kernels.get(kernels.key)
        if own_kernel is not None:
            # The backend's operators name their kernels.
            status = OperatorStatus.structured if own_kernel.structured else OperatorStatus.kernel
            return Reach(status, key, _kernel_text(own_kernel))
        out = _out_of_structured(function)
        if out is not None and kernels.key in out.kernels:
            return Reach(OperatorStatus.by_out, key, through=shown_name(out))
        if function in kernels.manual:
            return Reach(OperatorStatus.manual, key)
        kind = kernels.wrapped.get(function)
        if kind is None or function.group is None:
            return None
        if kind is WrapperKind.functional:
            return Reach(OperatorStatus.by_functional, key, through=shown_name(function.group.functional))
        return Reach(OperatorStatus.by_out, key, through=shown_name(function.group.out))

    def _of_pytorch(self, function: NativeFunction) -> Reach:
        """What PyTorch has for a function that the backend does not register."""
        composite = composite_key(function, self.kernels.key)
        if composite is None:
            return self._fallback(function)
        if function.name.text in self._raising:
            has_fallback = self.kernels.has_fallback and function.name.text in self._stand_ins
            return self._fallback(function) if has_fallback else Reach(OperatorStatus.missing, composite.name)
        kernel = function.kernels.get(composite)
        name = "" if kernel is None else _kernel_text(kernel)
        callee = self.callee(function, composite)
        if callee is None:
            return Reach(OperatorStatus.composite, composite.name, name)
        reach = self.reach(callee)
        through = reach.through or shown_name(callee)
        if reach.status in ABSENT:
            return Reach(reach.status, composite.name, name, through, reach.lacks or shown_name(callee))
        status = reach.status if reach.status is OperatorStatus.fallback else OperatorStatus.composite
        return Reach(status, composite.name, name, through)

    def callee(self, function: NativeFunction, composite: DispatchKey) -> NativeFunction | None:
        """Operator that a composite kernel calls, if it is known: of generated kernels, and of a few others."""
        called = self._called.get(function.name.text)
        if called is not None and called in self._catalog:
            return self._catalog[called]
        if composite is COMPOSITE_EXPLICIT_NON_FUNCTIONAL and (out := _out_of_structured(function)) is not None:
            return out
        view_group, group = function.view_group, function.group
        if view_group is not None and function is view_group.view_copy and view_copy_kernel(view_group) is not None:
            return view_group.view
        if group is None or not function.is_synthesized:
            return None
        if function is group.out:
            return group.functional
        written = (group.inplace, group.mutable)
        return next((member for member in written if member is not None and not member.is_synthesized), None)

    def _fallback(self, function: NativeFunction, *, has_fallback: bool = False) -> Reach:
        """What is left for a function without any kernel."""
        # A function without a kernel for dense tensors on the CPU is for other layouts or devices.
        name = function.name.text
        if not _has_cpu_kernel(function) and name not in self._needed and name not in self._stand_ins:
            return Reach(OperatorStatus.missing if name in self._lacked else OperatorStatus.elsewhere)
        falls_back = has_fallback or self.kernels.has_fallback
        return Reach(OperatorStatus.fallback if falls_back else OperatorStatus.missing)


def _has_cpu_kernel(function: NativeFunction) -> bool:
    out = _out_of_structured(function)
    return CPU in (function if out is None else out).kernels or composite_key(function, CPU) is not None


def _kernel_text(kernel: Kernel) -> str:
    return f"{kernel.namespace}::{kernel.name}"


class Serving(enum.Enum):
    """What serves a runtime key."""

    kernel = "a kernel that is registered for the key"
    composite = "a kernel that is made of other operators, or serves several devices"
    autograd = "the kernel for Autograd"
    fallback = "a kernel for all operators"
    fallthrough = "nothing: the next key is asked"
    error = "a kernel for all operators, which raises NotImplementedError"
    missing = "nothing: the call raises NotImplementedError"

    __hash__ = object.__hash__


_FALLBACKS: Final = {
    KeyFallback.none: Serving.missing,
    KeyFallback.error: Serving.error,
    KeyFallback.fallthrough: Serving.fallthrough,
    KeyFallback.boxed: Serving.fallback,
}


#: What jobs without backends have.
NO_FALLBACKS: Final[Mapping[str, str]] = {}


class TableRow(NamedTuple):
    """What runs under a runtime key.

    `registered_for` is the key that the kernel is registered for: the key itself, or an alias such as `Autograd`. It is
    empty where no kernel serves.
    """

    key: RuntimeKey
    serving: Serving
    registered_for: str = ""
    registration: RegisteredKernel | None = None


def dispatch_table(
    function: NativeFunction,
    registered: Registrations,
    built: Set[str] | None = None,
    fallbacks: Mapping[str, str] = NO_FALLBACKS,
) -> Iterator[TableRow]:
    """What runs for a function under each runtime key, in the dispatcher's order.

    `registered` are the registrations of the function. `built` are the keys whose kernels a build of PyTorch has, None
    for all. `fallbacks` are keys whose backends have a kernel for all operators, with what it does.
    """
    if built is not None:
        registered = {key: registration for key, registration in registered.items() if key in built}
    for runtime_key in runtime_keys():
        key = runtime_key
        if key.name in fallbacks:
            key = key._replace(fallback=KeyFallback.boxed, does=fallbacks[key.name])
        registered_for = _serving_key(function, key, registered)
        if registered_for not in registered:
            yield TableRow(key, _FALLBACKS[key.fallback])
            continue
        serving = Serving.autograd if registered_for == "Autograd" else Serving.composite
        serving = Serving.kernel if registered_for == key.name else serving
        yield TableRow(key, serving, registered_for, registered[registered_for])


def _serving_key(function: NativeFunction, key: RuntimeKey, registered: Registrations) -> str:
    """The key whose kernel serves a key, if there is one: the key itself, or an alias; empty if it has no alias."""
    if key.name in registered or key.kind is KeyKind.functionality:
        return key.name
    if key.kind is KeyKind.backend:
        composite = composite_key(function, key.key)
        return "" if composite is None else composite.name
    composite = _composite_of_autograd(key.key, registered)
    return "Autograd" if composite is None else composite.name


def _composite_of_autograd(key: DispatchKey, registered: Registrations) -> DispatchKey | None:
    """Composite key whose kernel serves an Autograd key: an implicit one, unless a kernel computes below it."""
    if not backends_of(key).isdisjoint(registered):
        return None
    if key.name == "AutogradNestedTensor" and COMPOSITE_IMPLICIT_NESTED.name in registered:
        return COMPOSITE_IMPLICIT_NESTED
    is_implicit = COMPOSITE_IMPLICIT.name in registered and COMPOSITE_EXPLICIT.name not in registered
    return COMPOSITE_IMPLICIT if is_implicit else None
