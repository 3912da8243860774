"""Kernels of a library that call another form of their operator: of synthesized overloads, and of copies of views."""

from __future__ import annotations

from opwright.convention import dispatcher
from opwright.cpp.binding import Expression
from opwright.cpp.namespaces import enclose
from opwright.cpp.translation import translate
from opwright.emit.aten.composite_kernels import functional_kernel, has_view_copy_kernel, out_kernel, view_copy_kernel
from opwright.emit.emitter import FragmentContext
from opwright.libraries.emit.declared_outputs import OUTPUTS_HEADER, allocation, inplace_check, out_resize
from opwright.libraries.emit.overlap import OVERLAP_HEADER, checks_overlap, overlap_check
from opwright.libraries.emit.parts import LibraryPart, Section
from opwright.libraries.emit.requirements import check_call, has_checks, operator_name
from opwright.libraries.entry_fields import library_fields, outputs_of
from opwright.model.dispatch_key import COMPOSITE_EXPLICIT, COMPOSITE_EXPLICIT_NON_FUNCTIONAL, COMPOSITE_IMPLICIT
from opwright.model.native_function import NativeFunction, NativeFunctionsGroup, ViewGroup
from opwright.schema.function import FunctionSchema, SchemaKind


def _contract_kernel(function: NativeFunction, writing: FunctionSchema) -> str:
    """Kernel of an overload that calls the operator `writing`. Raises Untranslatable."""
    written = [argument for argument in writing.arguments.all if argument.is_write]
    outputs, name = outputs_of(function), operator_name(function)
    signature = dispatcher.signature(function)
    values = [Expression(binding.name, binding.role, binding.type) for binding in signature.bindings]
    if function.kind is SchemaKind.functional:
        preparations = [
            f"at::Tensor {argument.name} = {allocation(output, name)};"
            for argument, output in zip(written, outputs, strict=True)
        ]
        targets = [argument.name for argument in written]
    elif function.kind is SchemaKind.out:
        targets = [argument.name for argument in function.arguments.out]
        preparations = [out_resize(output, target, name) for target, output in zip(targets, outputs, strict=True)]
    else:
        targets = ["self"]
        preparations = [inplace_check(output, name) for output in outputs]
    wanted = dispatcher.arguments(writing, style=function.style)
    passed = dict(zip([argument.name for argument in written], targets, strict=True))
    arguments = [
        passed[binding.name] if binding.name in passed else translate(tuple(values), (binding,))[0]
        for binding in wanted
    ]
    operator = f"{function.library.operators}::{writing.name.unambiguous}"
    checks = [overlap_check(function)] if checks_overlap(function) else []
    checks += [check_call(function, COMPOSITE_EXPLICIT)] if has_checks(function) else []
    statements = [*checks, *preparations, f"{operator}::call({', '.join(arguments)});"]
    statements.append(dispatcher.return_statement(function.schema.returns, targets, function.style))
    body = "\n".join([f"  {statement}" for statement in statements])
    suffix = "_symint" if writing.has_symint else ""
    return f"\n{signature.definition(function.name.unambiguous + suffix)} {{\n{body}\n}}\n"


def _returning_kernel(function: NativeFunction, internal: FunctionSchema) -> str:
    """Kernel of an operator that returns some results of the operator `internal`. Raises Untranslatable."""
    signature = dispatcher.signature(function)
    name = function.kernels[COMPOSITE_IMPLICIT].name
    call = f"{function.library.operators}::{internal.name.unambiguous}::call({signature.arguments})"
    results = "opwright_results"
    values = [f"std::get<{place}>(std::move({results}))" for place in library_fields(function).returned]
    returned = dispatcher.return_statement(function.schema.returns, values, function.style)
    return f"\n{signature.definition(name)} {{\n  auto {results} = {call};\n  {returned}\n}}\n"


def _calls_operator(function: NativeFunction) -> bool:
    """Whether an entry says that the function calls another operator: one that it is a contract or a part of."""
    fields = library_fields(function)
    return fields.contract_of is not None or fields.returned_from is not None


def has_generated_kernel(function: NativeFunction) -> bool:
    """Whether the kernel of a function is generated, because it calls another form of its operator."""
    group, views = function.group, function.view_group
    if _calls_operator(function):
        return True
    if isinstance(group, NativeFunctionsGroup) and function.is_synthesized:
        return function is group.out or group.functional.is_synthesized
    if isinstance(views, ViewGroup) and function is views.view_copy:
        return has_view_copy_kernel(views) and COMPOSITE_EXPLICIT_NON_FUNCTIONAL in function.kernels
    return False


def _generated_kernel(function: NativeFunction) -> str | None:
    """Kernel of a function that has a generated one."""
    group, fields = function.group, library_fields(function)
    if fields.contract_of is not None:
        return _contract_kernel(function, fields.contract_of)
    if fields.returned_from is not None:
        return _returning_kernel(function, fields.returned_from)
    if isinstance(group, NativeFunctionsGroup) and function.is_synthesized:
        return out_kernel(group) if function is group.out else functional_kernel(group)
    assert isinstance(function.view_group, ViewGroup)
    return view_copy_kernel(function.view_group)


def section(part: LibraryPart, context: FragmentContext) -> Section:
    """Kernels that are generated."""
    generated = [function for function in part.functions if has_generated_kernel(function)]
    kernels = [kernel for function in generated if (kernel := _generated_kernel(function)) is not None]
    if not kernels:
        return Section()
    body = "\n".join(
        ["namespace {", "using at::Tensor;", "using namespace ::opwright::copies;", *kernels, "} // namespace"]
    )
    has_contracts = any(library_fields(function).contract_of is not None for function in generated)
    outputs = (OUTPUTS_HEADER, OVERLAP_HEADER) if has_contracts else ()
    return Section(("ATen/InferSize.h", "opwright/copies.h", *outputs), enclose(part.library.native, body) + "\n")
