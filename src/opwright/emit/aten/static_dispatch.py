"""Static dispatch: operators call the kernels of chosen backends directly, without the dispatcher.

It serves builds with only these backends, in which the linker can remove every kernel that nothing calls.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from opwright.convention import dispatcher, public_api
from opwright.cpp.binding import POSSIBLY_REDUNDANT_MEMORY_FORMAT, Binding, Expression, WantedBinding
from opwright.cpp.translation import AvailableValue, translate
from opwright.emit.aten.backend import public_namespace
from opwright.emit.aten.units import include
from opwright.emit.emitter import DeclaredRead
from opwright.model.dispatch_key import (
    COMPOSITE_EXPLICIT,
    COMPOSITE_EXPLICIT_NON_FUNCTIONAL,
    COMPOSITE_IMPLICIT,
    COMPOSITE_IMPLICIT_NESTED,
    DispatchKey,
)
from opwright.model.native_function import Kernel, NativeFunction
from opwright.source.records import NamedTuple

Backends = Sequence[DispatchKey]

#: The dispatch keys whose functions static calls name.
STATIC_BACKENDS: Final[DeclaredRead[Backends]] = DeclaredRead("static_backends", lambda job: job.static_backends)

#: The keys whose kernels replace one that the backend does not have, the preferred key first.
_FALLBACKS: Final = (
    COMPOSITE_EXPLICIT,
    COMPOSITE_EXPLICIT_NON_FUNCTIONAL,
    COMPOSITE_IMPLICIT,
    COMPOSITE_IMPLICIT_NESTED,
)

#: The keys whose functions are declared for static calls beside the backends, in the order of their includes.
_GENERIC: Final = (
    COMPOSITE_IMPLICIT,
    COMPOSITE_IMPLICIT_NESTED,
    COMPOSITE_EXPLICIT,
    COMPOSITE_EXPLICIT_NON_FUNCTIONAL,
)


def extra_headers(backends: Backends) -> list[str]:
    """Includes of all functions that static calls may name."""
    return [f"#include <ATen/{key.name}Functions.h>" for key in (*backends, *_GENERIC)] if backends else []


def operator_headers(function: NativeFunction, backends: Backends) -> list[str]:
    """Includes of the headers that declare the functions of the operator's static calls, one for each backend."""
    if function.manual_kernel_registration:
        return []
    # The kernels of a delegate are generated from its structured overload, whose entry names them.
    has_all = function.structured_delegate is not None
    keys = [backend if has_all or backend in function.kernels else _fallback(function) for backend in backends]
    return [include(function, f"_{key.lower}_dispatch") for key in keys if key is not None]


class Caller(NamedTuple):
    """Function that a call is written into: its parameters, and whether they are symbolic integers."""

    bindings: tuple[AvailableValue, ...]
    symint: bool = True


def static_call(
    function: NativeFunction,
    backends: Backends,
    caller: Caller | None = None,
    kernels: Mapping[DispatchKey, Kernel] | None = None,
) -> str:
    """Body of a function of the operator: a call of the kernel, or a switch if several backends have one.

    It is the body of the operator's `call` unless another function is given; `kernels` are the operator's unless
    others are given.
    """
    if function.manual_kernel_registration:
        return ""
    caller = Caller(dispatcher.signature(function).bindings) if caller is None else caller
    kernels = function.kernels if kernels is None else kernels
    structured = function.structured_delegate is not None
    keys = [key for key in backends if key in kernels or (structured and key.has_structured)]
    if not keys:
        return fallback_call(function, backends, caller)
    calls = [kernel_call(function, key, kernels.get(key), caller) for key in keys]
    if len(keys) == 1:
        return calls[0]
    cases = "\n\t\t".join(
        [f"case DispatchKey::{key.name}:\n\t\t\t{call};" for key, call in zip(keys, calls, strict=True)]
    )
    return f"""
    DispatchKeySet _dk_set = {" | ".join(_key_sets(function, caller))};
\t\tDispatchKey _dk = c10::highestPriorityBackendTypeId(_dk_set);
    switch (_dk) {{
        {cases}
        default:
            {fallback_call(function, backends, caller)}
    }}
    """


def kernel_call(function: NativeFunction, key: DispatchKey, kernel: Kernel | None, caller: Caller) -> str:
    """Call of the function of a dispatch key, in the namespace of its kernel."""
    return _call(function, f"{public_namespace(kernel, function.library)}::{key.lower}", caller)


def fallback_call(function: NativeFunction, backends: Backends, caller: Caller) -> str:
    """Call of the kernel that serves all backends; without one, a statement that raises an error."""
    key = _fallback(function)
    if key is not None:
        return _call(function, f"{function.library.api}::{key.lower}", caller, symint=caller.symint)
    name = public_api.name(function.schema, symint=function.schema.has_symint and caller.symint)
    shown = ", ".join([backend.name for backend in backends])
    return f'TORCH_CHECK(false, "Static dispatch does not support {name} for{shown} ");'


def _fallback(function: NativeFunction) -> DispatchKey | None:
    return next((key for key in _FALLBACKS if key in function.kernels), None)


def _call(function: NativeFunction, namespace: str, caller: Caller, *, symint: bool = True) -> str:
    """Call of a public function in a namespace; the one for symbolic integers if there is one and it may be."""
    symint = symint and function.schema.has_symint
    signatures = public_api.function_signatures(function)
    called = signatures.friendly_symint if symint and signatures.friendly_symint else signatures.friendly
    name = public_api.name(function.schema, symint=symint)
    return f"return {namespace}::{name}({arguments(caller.bindings, called.bindings)});"


def arguments(available: tuple[AvailableValue, ...], wanted: tuple[Binding | WantedBinding, ...]) -> str:
    """Arguments of a public function, made from the parameters of the one that calls it."""
    redundant = any(binding.role == POSSIBLY_REDUNDANT_MEMORY_FORMAT for binding in wanted)
    sources = tuple(map(_as_redundant, available)) if redundant else available
    return ", ".join(translate(sources, wanted))


def _as_redundant(value: AvailableValue) -> AvailableValue:
    """Value. A memory format has the role that it has beside tensor options."""
    text = value.name if isinstance(value, Binding) else value.text
    return Expression(text, POSSIBLY_REDUNDANT_MEMORY_FORMAT, value.type) if text == "memory_format" else value


def _key_sets(function: NativeFunction, caller: Caller) -> list[str]:
    sets = []
    if function.arguments.options is not None:
        sets.append("DispatchKeySet(c10::computeDispatchKey(dtype, layout, device))")
    names = {argument.name for argument in function.arguments.all if argument.type.is_tensor_like}
    tensors = [binding.role for binding in caller.bindings if binding.role in names]
    if tensors:
        sets.append(f"c10::detail::multi_dispatch_key_set({', '.join(tensors)})")
    return sets
