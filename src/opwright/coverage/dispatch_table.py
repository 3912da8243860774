"""The dispatcher's table of an operator: what runs under each runtime key.

The rules are those by which PyTorch fills its tables. A kernel that is registered for the key itself comes first, then
those of the composite keys, then that for Autograd, then the fallback of the key.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator, Mapping, Set
from typing import Final

from opwright.coverage.dispatch import composite_key
from opwright.coverage.registrations import RegisteredKernel, Registrations
from opwright.model.dispatch_key import (
    COMPOSITE_EXPLICIT,
    COMPOSITE_IMPLICIT,
    COMPOSITE_IMPLICIT_NESTED,
    DispatchKey,
)
from opwright.model.native_function import NativeFunction
from opwright.model.runtime_keys import KeyFallback, KeyKind, RuntimeKey, backends_of, runtime_keys
from opwright.source.named_tuple import NamedTuple

__all__ = ["Serving", "TableRow", "dispatch_table"]


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
        registration = registered.get(key.name)
        if registration is not None:
            yield TableRow(key, Serving.kernel, key.name, registration)
            continue
        serving, alias = _alias(function, key, registered)
        if alias:
            yield TableRow(key, serving, alias, registered[alias])
        else:
            yield TableRow(key, _FALLBACKS[key.fallback])


def _alias(function: NativeFunction, key: RuntimeKey, registered: Registrations) -> tuple[Serving, str]:
    """The alias key whose kernel serves a key that has none, empty if there is none."""
    if key.kind is KeyKind.backend:
        composite = composite_key(function, key.key)
        return (Serving.composite, composite.name if composite is not None and composite.name in registered else "")
    if key.kind is KeyKind.autograd:
        composite = _composite_of_autograd(key.key, registered)
        if composite is not None:
            return (Serving.composite, composite.name)
        return (Serving.autograd, "Autograd" if "Autograd" in registered else "")
    return (Serving.missing, "")


def _composite_of_autograd(key: DispatchKey, registered: Registrations) -> DispatchKey | None:
    """The composite key whose kernel serves an Autograd key: an implicit one, unless a kernel computes below it."""
    if not backends_of(key).isdisjoint(registered):
        return None
    if key.name == "AutogradNestedTensor" and COMPOSITE_IMPLICIT_NESTED.name in registered:
        return COMPOSITE_IMPLICIT_NESTED
    is_implicit = COMPOSITE_IMPLICIT.name in registered and COMPOSITE_EXPLICIT.name not in registered
    return COMPOSITE_IMPLICIT if is_implicit else None
