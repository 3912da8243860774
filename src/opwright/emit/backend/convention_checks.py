"""Checks that wrappers can call kernels with the calling conventions of plug-ins."""

from __future__ import annotations

from collections.abc import Iterator

from opwright.cpp.binding import Binding, Expression
from opwright.cpp.translation import AvailableValue, Untranslatable, translate_with
from opwright.emit.aten.backend import Backend, KernelWrapper, WrapperKind
from opwright.emit.aten.register.additions import KernelCallee
from opwright.emit.aten.register.kernel_calls import converted_result, returns_arguments
from opwright.emit.aten.register.out_kernels import passed_outs

__all__ = ["uncallable"]


def uncallable(callee: KernelCallee, wrapper: KernelWrapper, backend: Backend) -> Iterator[str]:
    """What a kernel wants and the wrapper cannot make, and a result from which it cannot make its own."""
    given: tuple[AvailableValue, ...] = wrapper.signature.bindings
    group = wrapper.function.group
    if wrapper.kind is WrapperKind.out and group is not None:
        given += passed_outs(wrapper.function, group, backend)
    for binding in callee.signature.bindings:
        try:
            translate_with(callee.conversions, given, (binding,))
        except Untranslatable:
            yield f"wants `{binding.type.text} {binding.role}` for `{wrapper.function.name}`, {_origin(binding, given)}"
    wanted = wrapper.signature.returns
    if wrapper.kind is WrapperKind.out or callee.signature.returns is wanted or returns_arguments(wanted):
        return
    try:
        converted_result("result", callee.signature.returns, wanted, callee.conversions)
    except Untranslatable:
        returned = callee.signature.returns.text
        yield f"returns `{returned}`, and no conversion makes the result `{wanted.text}` of `{wrapper.function.name}`"


def _origin(wanted: Binding, given: tuple[AvailableValue, ...]) -> str:
    """Why a wanted value cannot be made."""
    types = [value.type.text for value in given if value.role == wanted.role]
    if not types:
        names = ", ".join([f"`{value.text if isinstance(value, Expression) else value.name}`" for value in given])
        return f"which has no argument `{wanted.role}`: there are {names}"
    return f"and no conversion makes it from the argument of type `{types[0]}`"
