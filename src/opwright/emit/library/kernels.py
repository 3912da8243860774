"""The wrappers of a part's kernels, and their registration under each dispatch key."""

from __future__ import annotations

from typing import Final

from opwright.cpp.namespaces import enclose
from opwright.emit.aten.backend import Backend, WrappedUnit, WrapperKind
from opwright.emit.aten.register import structured_kernels
from opwright.emit.aten.register import wrapper as plain
from opwright.emit.aten.register.devices import guard_headers
from opwright.emit.aten.register.helpers import allocation_of, registration_helpers
from opwright.emit.aten.register.registration import registration
from opwright.emit.emitter import FragmentContext
from opwright.emit.library.parts import LibraryPart
from opwright.emit.library.section import Section
from opwright.model.dispatch_key import ANY_DEVICE_ALLOCATION, LIBRARY_KEYS, META, DispatchKey
from opwright.model.native_function import NativeFunctionsGroup

#: What declares the operators that allocate outputs of keys without allocation functions of their own.
_EMPTY_BY_DISPATCH: Final = ("ATen/ops/empty.h", "ATen/ops/empty_strided.h")


def section(part: LibraryPart, context: FragmentContext) -> Section:
    """The wrappers and registrations of every key with kernels."""
    includes: list[str] = []
    texts = []
    for key in LIBRARY_KEYS.values():
        backend = _backend(part, key)
        wrapped = [(unit, kinds) for unit in part.units if (kinds := backend.wrapped_overloads(unit))]
        if wrapped:
            includes += _includes(backend, wrapped, context)
            texts.append(_key_text(part, backend, wrapped, context))
    return Section(tuple(includes), "\n".join(texts))


def _backend(part: LibraryPart, key: DispatchKey) -> Backend:
    kernels = {function: function.kernels[key] for function in part.functions if key in function.kernels}
    # A library names the keys of its kernels: those of backends that have only out overloads are not generated.
    return Backend(
        key,
        kernels,
        device_guard=_has_guard(key),
        generates_kernels=key is META,
        allocation=ANY_DEVICE_ALLOCATION if key.is_dense else None,
    )


def _has_guard(key: DispatchKey) -> bool:
    """Whether wrappers set the current device: that of keys of which PyTorch's generator knows nothing may matter."""
    if key.device is None or key.name.startswith("Autograd"):
        return False
    return key.device.has_guard or not key.device.is_known


def _has_structured(wrapped: list[WrappedUnit]) -> bool:
    return any(kind is WrapperKind.structured for _, kinds in wrapped for _, kind in kinds)


def _includes(backend: Backend, wrapped: list[WrappedUnit], context: FragmentContext) -> list[str]:
    """The headers for guards, and for allocating the outputs of structured kernels."""
    headers = [
        line.removeprefix("#include <").removesuffix(">")
        for line in guard_headers(backend.key, rocm=context.options.rocm, rules=context.rules).splitlines()
    ]
    if backend.device_guard:
        headers += ["ATen/DeviceGuard.h", "ATen/core/op_registration/adaption.h"]
    if not _has_structured(wrapped):
        return headers
    allocation = allocation_of(backend)
    headers.append("ATen/native/Resize.h")
    if allocation is None:
        return headers
    return [*headers, *([allocation.header] if allocation.header else _EMPTY_BY_DISPATCH)]


def _key_text(part: LibraryPart, backend: Backend, wrapped: list[WrappedUnit], context: FragmentContext) -> str:
    """The wrappers under one key, in a namespace of their own, and their registration."""
    bodies: list[str] = []
    registrations: list[str] = []
    for unit, kinds in wrapped:
        for function, kind in kinds:
            if kind is WrapperKind.structured and isinstance(unit, NativeFunctionsGroup):
                wrapper = structured_kernels.structured_wrapper(function, backend)
                bodies.append(structured_kernels.definition(wrapper, unit, backend, context))
            else:
                wrapper = plain.plain_wrapper(function, kind, backend)
                bodies.append(plain.definition(wrapper, backend))
            registrations.append(f"  {registration(wrapper)}")
    helpers = registration_helpers(backend) if _has_structured(wrapped) else []
    body = "\n".join(["using namespace at;", *helpers, *bodies])
    listed = "\n".join(registrations)
    registered = f"TORCH_LIBRARY_IMPL({part.library.namespace}, {backend.key.name}, m) {{\n{listed}\n}}"
    namespace = f"{part.library.api}::registered_{backend.key.lower}"
    return enclose(namespace, f"namespace {{\n{body}\n}} // namespace\n\n{registered}") + "\n"
