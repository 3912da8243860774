"""Static dispatch: operators call the kernels of chosen backends directly, without the dispatcher.

It serves builds with only these backends, in which the linker can remove every kernel that nothing calls.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from opwright.convention import dispatcher, public_api
from opwright.cpp.binding import POSSIBLY_REDUNDANT_MEMORY_FORMAT, Binding, Expression
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
from opwright.model.native_function import NativeFunction

Backends = Sequence[DispatchKey]

#: The dispatch keys whose functions static calls name.
STATIC_BACKENDS: Final[DeclaredRead[Backends]] = DeclaredRead(
    "static_backends", lambda job: job.static_backends, lambda keys: tuple([key.name for key in keys])
)

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
    """The includes of all functions that static calls may name."""
    return [f"#include <ATen/{key.name}Functions.h>" for key in (*backends, *_GENERIC)] if backends else []


def operator_headers(function: NativeFunction, backends: Backends) -> list[str]:
    """The includes of the headers that declare the functions of the operator's static calls, one for each backend."""
    if function.manual_kernel_registration:
        return []
    headers = []
    for backend in backends:
        # The kernels of a delegate are generated from its structured overload, whose entry names them.
        own = function.structured_delegate is not None or backend in function.kernels
        key = backend if own else _fallback(function)
        if key is not None:
            headers.append(include(function, f"_{key.lower}_dispatch"))
    return headers


def static_call(function: NativeFunction, backends: Backends) -> str:
    """The body of the operator's `call`: a call of the kernel, or a switch if several backends have one."""
    if function.manual_kernel_registration:
        return ""
    structured = function.structured_delegate is not None
    keys = [key for key in backends if key in function.kernels or (structured and key.has_structured)]
    name, arguments = _call(function)
    if not keys:
        return _fallback_call(function, backends, name, arguments)
    library, kernels = function.library, function.kernels
    calls = [f"return {public_namespace(kernels.get(key), library)}::{key.lower}::{name}({arguments});" for key in keys]
    if len(keys) == 1:
        return calls[0]
    cases = "\n\t\t".join(
        [f"case DispatchKey::{key.name}:\n\t\t\t{call};" for key, call in zip(keys, calls, strict=True)]
    )
    return f"""
    DispatchKeySet _dk_set = {" | ".join(_key_sets(function))};
\t\tDispatchKey _dk = c10::highestPriorityBackendTypeId(_dk_set);
    switch (_dk) {{
        {cases}
        default:
            {_fallback_call(function, backends, name, arguments)}
    }}
    """


def _fallback(function: NativeFunction) -> DispatchKey | None:
    return next((key for key in _FALLBACKS if key in function.kernels), None)


def _call(function: NativeFunction) -> tuple[str, str]:
    """The name of the public function to call, and its arguments, made from the dispatcher's."""
    symint = function.schema.has_symint
    signatures = public_api.function_signatures(function)
    wanted = (signatures.friendly_symint or signatures.friendly).bindings
    available = dispatcher.signature(function).bindings
    redundant = any(binding.role == POSSIBLY_REDUNDANT_MEMORY_FORMAT for binding in wanted)
    sources = tuple([_as_redundant(binding) for binding in available]) if redundant else available
    return public_api.name(function.schema, symint=symint), ", ".join(translate(sources, wanted))


def _as_redundant(binding: Binding) -> AvailableValue:
    """The binding. A memory format has the role that it has beside tensor options."""
    if binding.name != "memory_format":
        return binding
    return Expression(binding.name, POSSIBLY_REDUNDANT_MEMORY_FORMAT, binding.type)


def _fallback_call(function: NativeFunction, backends: Backends, name: str, arguments: str) -> str:
    key = _fallback(function)
    if key is not None:
        return f"return {function.library.api}::{key.lower}::{name}({arguments});"
    shown = ", ".join([backend.name for backend in backends])
    return f'TORCH_CHECK(false, "Static dispatch does not support {name} for{shown} ");'


def _key_sets(function: NativeFunction) -> list[str]:
    """The expressions for the dispatch keys of the options and of the tensors. Their union chooses the backend."""
    sets = []
    if function.arguments.options is not None:
        sets.append("DispatchKeySet(c10::computeDispatchKey(dtype, layout, device))")
    tensors = [argument.name for argument in function.arguments.all if argument.type.is_tensor_like]
    if tensors:
        sets.append(f"c10::detail::multi_dispatch_key_set({', '.join(tensors)})")
    return sets
