"""Wrappers of overloads that have no kernel, and get their result from another overload of their group.

With kernels of out overloads, the functional overload passes new empty tensors, which the kernel resizes, and the
in-place overload passes `self`. With functional kernels, the out and in-place overloads copy the result.
"""

from __future__ import annotations

from typing import Final

from opwright.backends.kernel_calls import KernelResult, WrapperAdditions, chosen_kernel_call, written_arguments
from opwright.convention import public_api
from opwright.cpp.binding import Expression
from opwright.cpp.text import indent
from opwright.cpp.translation import AvailableValue, translated_call
from opwright.emit.aten.backend import Backend, KernelWrapper, WrapperKind
from opwright.emit.aten.register.devices import device_lines
from opwright.emit.aten.register.helpers import allocation_of
from opwright.emit.aten.register.wrapper import plain_wrapper
from opwright.model.native_function import NativeFunction, NativeFunctionsGroup
from opwright.schema.function import SchemaKind
from opwright.schema.types import TENSOR


def can_call_out_kernel(function: NativeFunction, group: NativeFunctionsGroup) -> bool:
    """Whether a wrapper of an overload can make the arguments that the kernel of the out overload writes."""
    outs = group.out.arguments.out
    if any(argument.type is not TENSOR for argument in outs) or len(function.schema.returns) != len(outs):
        return False
    if function.kind is SchemaKind.inplace:
        return len(outs) == 1
    return function.kind is SchemaKind.functional and _like_outputs(function) is not None


def _like_outputs(function: NativeFunction) -> str | None:
    """Tensor argument whose dtype and device new outputs have: `self`, or the first one."""
    tensors = [argument.name for argument in function.arguments.positional if argument.type is TENSOR]
    return "self" if "self" in tensors else next(iter(tensors), None)


def out_wrapper_definition(wrapper: KernelWrapper, backend: Backend, additions: WrapperAdditions | None) -> str:
    """Definition of a wrapper that calls the kernel of the out overload, or one that plug-ins add in its place."""
    function = wrapper.function
    group = function.group
    assert group is not None, "only overloads of a group have an out overload"
    signature = backend.kernel_signature(group.out)
    outs = passed_outs(function, group, backend)
    given: tuple[AvailableValue, ...] = (*wrapper.signature.bindings, *outs)
    if additions is not None and additions.callees:
        written = written_arguments(signature.returns, [expression.text for expression in outs])
        result = KernelResult(signature.returns, written)
        call = chosen_kernel_call(wrapper, backend, additions, given, result)
    else:
        call = translated_call(backend.callee(group.out), given, signature.bindings)
    statements = [*_allocations(function, group, backend), indent(f"{call};")]
    computed = "\n".join([*statements, f"  return {_result_expression(function, group)};"])
    lines = f"{backend.first_statements(wrapper)}{device_lines(function, wrapper.name, backend)}"
    body = f"{lines}\n{backend.surrounded(wrapper, computed)}"
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
    """Statements that make new outputs, each without elements."""
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


def copies_results(function: NativeFunction) -> bool:
    """Whether a wrapper can copy the results of the functional overload into the arguments that the function writes."""
    if function.kind is SchemaKind.inplace:
        return bool(function.schema.returns)
    return function.kind is SchemaKind.out and (bool(function.schema.returns) or len(function.arguments.out) == 1)


#: The functions that copy the result of the functional overload into an argument, by the kind of the overload.
_COPIES: Final = {SchemaKind.inplace: "at::_copy_from", SchemaKind.out: "at::_copy_from_and_resize"}


def copying_wrapper_definition(wrapper: KernelWrapper, backend: Backend) -> str:
    """Definition of a wrapper that copies the result of the functional overload."""
    function = wrapper.function
    group = function.group
    assert group is not None, "only overloads of a group are made from the functional one"
    functional = plain_wrapper(group.functional, WrapperKind.kernel, backend)
    call = translated_call(functional.name, wrapper.signature.bindings, functional.signature.bindings)
    result = f"{wrapper.name}_tmp"
    copies, returned = _copied_results(wrapper, result)
    return (
        f"{wrapper.signature.definition(wrapper.name)} {{\n"
        f"  auto {result} = {call};\n"
        f"  {copies}\n"
        f"  return {returned};\n"
        "}"
    )


def _copied_results(wrapper: KernelWrapper, result: str) -> tuple[str, str]:
    """Statements that copy all results, and the expression that the wrapper returns."""
    function = wrapper.function
    copy = _COPIES[function.kind]
    names = public_api.return_names(function)
    if len(names) > 1:
        lines = [f"{copy}(std::get<{index}>({result}), {name});" for index, name in enumerate(names)]
        return "\n  ".join(lines), f"{wrapper.signature.returns.text}({', '.join(names)})"
    if names:
        return f"{copy}({result}, {names[0]});", names[0]
    # Overloads that write to lists return nothing.
    out = function.arguments.out[0]
    if out.type.list_like is None:
        return f"{copy}({result}, {out.name});", ""
    loop = f"    for (int64_t i = 0; i < {result}.size(); ++i) {{\n        {copy}({result}[i], {out.name}[i]);\n    }}"
    return loop, ""
