"""Kernels of overloads that contracts make: each calls the operator that writes, with tensors to write into."""

from __future__ import annotations

from opwright.convention import dispatcher
from opwright.cpp.binding import Expression
from opwright.cpp.translation import translate
from opwright.emit.library.declared_outputs import allocation, inplace_check, out_resize
from opwright.model.native_function import NativeFunction
from opwright.schema.function import FunctionSchema, SchemaKind

__all__ = ["contract_kernel"]


def contract_kernel(function: NativeFunction, writing: FunctionSchema) -> str:
    """The kernel of an overload that calls the operator `writing`. Raises Untranslatable."""
    written = [argument for argument in writing.arguments.all if argument.is_write]
    outputs = function.declared_outputs
    signature = dispatcher.signature(function)
    values = [Expression(binding.name, binding.role, binding.type) for binding in signature.bindings]
    if function.kind is SchemaKind.functional:
        preparations = [
            f"at::Tensor {argument.name} = {allocation(output)};"
            for argument, output in zip(written, outputs, strict=True)
        ]
        targets = [argument.name for argument in written]
    elif function.kind is SchemaKind.out:
        targets = [argument.name for argument in function.arguments.out]
        preparations = [out_resize(output, name, symbolic=True) for name, output in zip(targets, outputs, strict=True)]
    else:
        targets = ["self"]
        preparations = [inplace_check(output, "self", symbolic=True) for output in outputs]
    wanted = dispatcher.arguments(writing, style=function.style)
    passed = dict(zip([argument.name for argument in written], targets, strict=True))
    arguments = [
        passed[binding.name] if binding.name in passed else translate(tuple(values), (binding,))[0]
        for binding in wanted
    ]
    operator = f"{function.library.operators}::{writing.name.unambiguous}"
    statements = [*preparations, f"{operator}::call({', '.join(arguments)});"]
    statements.append(dispatcher.return_statement(function.schema.returns, targets, function.style))
    body = "\n".join([f"  {statement}" for statement in statements])
    suffix = "_symint" if writing.has_symint else ""
    return f"\n{signature.definition(function.name.unambiguous + suffix)} {{\n{body}\n}}\n"
