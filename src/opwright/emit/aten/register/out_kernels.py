"""Wrappers of functional and in-place overloads that call the kernel of the out overload.

The functional overload passes new empty tensors, which the kernel resizes, and the in-place overload passes `self`.
"""

from __future__ import annotations

from opwright.cpp.binding import Expression
from opwright.cpp.translation import AvailableValue, translated_call
from opwright.emit.aten.backend import Backend, KernelWrapper
from opwright.emit.aten.register.devices import device_lines
from opwright.emit.aten.register.helpers import allocation_of
from opwright.emit.aten.register.hooks import first_statements, hooked_body, indent
from opwright.model.native_function import NativeFunction, NativeFunctionsGroup
from opwright.schema.function import SchemaKind
from opwright.schema.types import TENSOR

__all__ = ["can_call_out_kernel", "out_wrapper_definition", "passed_outs"]


def can_call_out_kernel(function: NativeFunction, group: NativeFunctionsGroup) -> bool:
    """Whether a wrapper of an overload can make the arguments that the kernel of the out overload writes."""
    outs = group.out.arguments.out
    if any(argument.type is not TENSOR for argument in outs) or len(function.schema.returns) != len(outs):
        return False
    if function.kind is SchemaKind.inplace:
        return len(outs) == 1
    return function.kind is SchemaKind.functional and _like_outputs(function) is not None


def _like_outputs(function: NativeFunction) -> str | None:
    """The tensor argument whose dtype and device new outputs have: `self`, or the first one."""
    tensors = [argument.name for argument in function.arguments.positional if argument.type is TENSOR]
    return "self" if "self" in tensors else next(iter(tensors), None)


def out_wrapper_definition(wrapper: KernelWrapper, backend: Backend) -> str:
    """The wrapper's definition."""
    function = wrapper.function
    group = function.group
    assert group is not None, "only overloads of a group have an out overload"
    signature = backend.kernel_signature(group.out)
    outs = passed_outs(function, group, backend)
    given: tuple[AvailableValue, ...] = (*wrapper.signature.bindings, *outs)
    if wrapper.additions is not None and wrapper.additions.callees:
        # Few wrappers need this module.
        from opwright.emit.aten.register.kernel_calls import KernelResult, chosen_kernel_call, written_arguments

        written = written_arguments(signature.returns, [expression.text for expression in outs])
        result = KernelResult(signature.returns, written)
        call = chosen_kernel_call(wrapper, backend, wrapper.additions, given, result)
    else:
        kernel = backend.kernels[group.out]
        callee = backend.callees.get(group.out) or f"{backend.owner(kernel)}::{kernel.name}"
        call = translated_call(callee, given, signature.bindings)
    statements = [*_allocations(function, group, backend), indent(f"{call};")]
    computed = "\n".join([*statements, f"  return {_result_expression(function, group)};"])
    lines = f"{first_statements(wrapper, backend)}{device_lines(function, wrapper.name, backend)}"
    body = f"{lines}\n{hooked_body(wrapper, backend, computed)}"
    return f"namespace {{\n{wrapper.signature.definition(wrapper.name)} {{\n{body}\n}}\n}} // anonymous namespace"


def passed_outs(function: NativeFunction, group: NativeFunctionsGroup, backend: Backend) -> tuple[Expression, ...]:
    """What the wrapper of an overload passes as the out arguments of the kernel: new tensors, or `self`."""
    is_functional = function.kind is SchemaKind.functional
    names = {argument.name for argument in group.out.arguments.out}
    return tuple(
        [
            Expression(binding.name if is_functional else "self", binding.role, binding.type)
            for binding in backend.kernel_signature(group.out).bindings
            if binding.name in names
        ]
    )


def _allocations(function: NativeFunction, group: NativeFunctionsGroup, backend: Backend) -> list[str]:
    """The statements that make new outputs, each without elements."""
    if function.kind is not SchemaKind.functional:
        return []
    allocation = allocation_of(backend)
    assert allocation is not None, "backends with derived overloads allocate their outputs"
    empty = f"{allocation.function.format('')}({{0}}, {_like_outputs(function)}.options())"
    return [f"  at::Tensor {argument.name} = {empty};" for argument in group.out.arguments.out]


def _result_expression(function: NativeFunction, group: NativeFunctionsGroup) -> str:
    if function.kind is SchemaKind.inplace:
        return "self"
    names = [argument.name for argument in group.out.arguments.out]
    if len(names) == 1:
        return names[0]
    return f"::std::make_tuple({', '.join([f'std::move({name})' for name in names])})"
