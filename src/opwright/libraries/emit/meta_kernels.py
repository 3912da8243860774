"""Kernels for Meta that follow from schemas and declared outputs, and shape functions of structured kernels."""

from __future__ import annotations

from opwright.convention import dispatcher, structured
from opwright.cpp.namespaces import enclose
from opwright.emit.emitter import FragmentContext
from opwright.libraries.declared_outputs import depends_on_values
from opwright.libraries.emit.declared_outputs import (
    OUTPUTS_HEADER,
    allocation,
    inplace_check,
    out_resize,
    shape_function,
)
from opwright.libraries.emit.overlap import OVERLAP_HEADER, checks_overlap, overlap_check
from opwright.libraries.emit.parts import LibraryPart, Section, structured_groups
from opwright.libraries.emit.requirements import check_call, has_checks, operator_name
from opwright.libraries.entry_fields import outputs_of
from opwright.model.dispatch_key import META
from opwright.model.native_function import NativeFunction, NativeFunctionsGroup
from opwright.schema.function import Argument, FunctionSchema, SchemaKind
from opwright.schema.types import ListType, OptionalType


def is_shape_declared(group: NativeFunctionsGroup) -> bool:
    """Whether the shape function of a structured kernel follows from declared outputs.

    It does not if a parent class or the computation needs more than outputs from it.
    """
    out = group.out
    return bool(outputs_of(out)) and out.structured_inherits is None and out.precomputed is None


def has_meta_kernel(function: NativeFunction) -> bool:
    """Whether the function's kernel for Meta is generated here.

    It is if the function has declared outputs whose sizes do not depend on values, or if it writes to other arguments
    than out arguments and returns nothing new. Operators of others have the fakes of their owner.
    """
    if function.is_synthesized or function.has_composite_implicit or META in function.kernels:
        return False
    if not function.library.defines_operators:
        return False
    outputs = outputs_of(function)
    return not depends_on_values(outputs) if outputs else writes_only(function)


def writes_only(function: NativeFunction) -> bool:
    """Whether a function that writes returns nothing but arguments, so that meta tensors stay as they are."""
    if function.kind not in (SchemaKind.mutable, SchemaKind.inplace) or function.is_view:
        return False
    if function.has_composite_kernel or function.in_structured_group:
        return False
    return returns_arguments(function.schema)


def section(part: LibraryPart, context: FragmentContext) -> Section:
    """Shape functions, and the kernels with their registrations."""
    groups = [group for group in structured_groups(part.units) if is_shape_declared(group)]
    functions = [function for function in part.functions if has_meta_kernel(function)]
    texts = []
    if groups:
        texts.append(enclose(part.library.meta, "\n".join([_shape_function(group) for group in groups])))
    if functions:
        kernels = "\n".join(["namespace {", *[_kernel(function) for function in functions], "} // namespace"])
        texts.append(enclose(f"{part.library.api}::declared", kernels))
        lines = [f"TORCH_LIBRARY_IMPL({part.library.namespace}, {META.name}, m) {{"]
        for function in functions:
            kernel = f"{part.library.api}::declared::{function.name.unambiguous}"
            lines.append(f'  m.impl("{function.name.text}", &{kernel});')
        texts.append("\n".join([*lines, "}"]))
    is_declared = any(outputs_of(function) for function in functions)
    includes = [OUTPUTS_HEADER] if is_declared or groups else []
    includes += [OVERLAP_HEADER] if any(map(checks_overlap, functions)) else []
    return Section(tuple(includes), "\n\n".join(texts) + "\n" if texts else "")


def _shape_function(group: NativeFunctionsGroup) -> str:
    """Definition of the method `meta`."""
    parameters = ", ".join([binding.definition for binding in structured.meta_arguments(group)])
    body = shape_function(outputs_of(group.out), operator_name(group.out))
    return f"void structured_{structured.meta_name(group)}::meta({parameters}) {{\n{_indent(body)}\n}}"


def _kernel(function: NativeFunction) -> str:
    """A dispatcher function that makes new results as meta tensors, and checks arguments that take results."""
    outputs, operator = outputs_of(function), operator_name(function)
    lines = [overlap_check(function)] if checks_overlap(function) else []
    lines += [check_call(function, META)] if has_checks(function) else []
    if function.kind is SchemaKind.inplace and outputs:
        lines.append(inplace_check(outputs[0], operator, meta=True))
    elif function.kind is SchemaKind.out:
        outs = function.arguments.out
        pairs = zip(outputs, outs, strict=True)
        lines += [out_resize(output, argument.name, operator, meta=True) for output, argument in pairs]
    results = (allocation(output, operator, meta=True) for output in outputs)
    names = dispatcher.returned_arguments(function.schema)
    arguments = {argument.name: argument for argument in function.arguments.all}
    values = [next(results) if name is None else _argument_value(arguments[name]) for name in names]
    lines.append(dispatcher.return_statement(function.schema.returns, values, function.style))
    signature = dispatcher.signature(function)
    body = _indent("\n".join(lines))
    return f"{signature.definition(function.name.unambiguous)} {{\n{body}\n}}"


def _argument_value(argument: Argument) -> str:
    """Expression that returns an argument: a tensor, or the tensors of a list."""
    match argument.type:
        case OptionalType():
            return f"{argument.name}.value()"
        case ListType():
            return f"{argument.name}.vec()"
    return argument.name


def _indent(text: str) -> str:
    return "\n".join([f"  {line}" for line in text.split("\n")])


def returns_arguments(schema: FunctionSchema) -> bool:
    """Whether each result is an argument that is always there: what a call returns for None is not known.

    >>> from opwright.syntax.dispatcher_schemas import read_written_schema
    >>> texts = ["f(Tensor(a!) x) -> Tensor(a!)", "f(Tensor(a!)? x) -> Tensor(a!)", "f(Tensor x) -> Tensor"]
    >>> [returns_arguments(read_written_schema(text)) for text in texts]
    [True, False, False]
    """
    there = {argument.name for argument in schema.arguments.all if not argument.type.is_nullable}
    return there.issuperset(dispatcher.returned_arguments(schema))
