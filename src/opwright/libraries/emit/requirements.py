"""Requirements of operators as C++: a function that checks the arguments of a call, and calls of it.

The text is the same for both C++ interfaces and for sizes that are symbols: `Sizes` has the functions for them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Final

from opwright.cpp.namespaces import enclose
from opwright.cpp.text import string_literal
from opwright.emit.emitter import FragmentContext
from opwright.libraries.declared_outputs import (
    DeclaredOutput,
    OutputExpression,
    OutputOperation,
    depends_on_values,
)
from opwright.libraries.emit.declared_outputs import (
    ExpressionPrinter,
    bound_variable,
    inplace_check,
    integer_sides,
    out_resize,
    output_subject,
)
from opwright.libraries.emit.parts import LibraryPart, Section
from opwright.libraries.entry_fields import library_fields, outputs_of, requirements_of
from opwright.libraries.requirements import (
    CopiedArgument,
    Requirement,
    Requirements,
    ValueCondition,
    argument_names,
    element_name,
    index_name,
    item_name,
    place_name,
)
from opwright.model.dispatch_key import META, DispatchKey
from opwright.model.native_function import NativeFunction
from opwright.schema.function import SchemaKind
from opwright.schema.types import ListType

#: The functions for each C++ interface.
REQUIREMENTS_HEADER: Final = "opwright/requirements.h"
STABLE_REQUIREMENTS_HEADER: Final = "opwright/stable_requirements.h"

#: Names in the function that checks, and types of C++ that its text names.
_TAKEN: Final = re.compile(r"(?:Sizes|Type\d+|int64_t|bool|opwright_\w*)_*")


def check_variable(name: str) -> str:
    """The parameter for an argument of the function that checks, which hides nothing that the function names.

    >>> check_variable("scale"), check_variable("Sizes"), check_variable("Sizes_"), check_variable("opwright x item")
    ('scale', 'Sizes_', 'Sizes__', 'opwright_x_item')
    """
    return f"{name}_" if _TAKEN.fullmatch(name) else bound_variable(name.replace("-", "end "))


_PRINTER: Final = ExpressionPrinter(
    "Sizes", "typename Sizes::Number", dtypes="Sizes::Dtype", types="typename Sizes::", variable=check_variable
)


def has_checks(function: NativeFunction) -> bool:
    """Whether calls of the kernels of an overload are checked. Overloads that call others leave it to them."""
    requirements = requirements_of(function)
    fields = library_fields(function)
    is_kernel = (not function.is_synthesized or fields.contract_of is not None) and fields.returned_from is None
    return is_kernel and requirements is not None and bool(requirements.checks or requirements.values)


def copied_arguments(function: NativeFunction) -> dict[str, str]:
    """Arguments that kernels get in a layout, and what is passed in their place."""
    requirements = requirements_of(function)
    if requirements is None or function.is_synthesized:
        return {}
    return {argument.name: _in_layout(argument) for argument in requirements.copied}


def _in_layout(argument: CopiedArgument) -> str:
    if len(argument.layouts) == 1:
        return f"::opwright::{argument.layouts[0]}({argument.name})"
    return _call_with_layouts("any_layout", argument)


def layouts_of_taken(function: NativeFunction) -> list[str]:
    """Statements that put tensors which another call takes over in their layouts. Lists of them are copied."""
    if not copied_arguments(function):
        return []
    requirements = requirements_of(function)
    assert requirements is not None
    lists = [argument.name for argument in function.arguments.all if isinstance(argument.type, ListType)]
    tensors = [argument for argument in requirements.copied if argument.name not in lists]
    return [f"{_call_with_layouts('put_in_layout', argument)};" for argument in tensors]


def _call_with_layouts(function: str, argument: CopiedArgument) -> str:
    layouts = ", ".join([f"&::opwright::Concrete::{layout}" for layout in argument.layouts])
    is_channels_last = "true" if argument.layouts[0] == "channels_last" else "false"
    return f"::opwright::{function}<{layouts}>({argument.name}, /*channels_last=*/{is_channels_last})"


def written_outputs(function: NativeFunction) -> list[tuple[str, DeclaredOutput]]:
    """The arguments that a kernel of an out or in-place overload writes to, each with its declared output."""
    return [] if function.is_synthesized else outputs_of_written(function)


def outputs_of_written(function: NativeFunction) -> list[tuple[str, DeclaredOutput]]:
    """The arguments that an overload writes to, also one that calls others, each with its declared output."""
    outputs = outputs_of(function)
    if library_fields(function).returned_from is not None or depends_on_values(outputs):
        return []
    if function.kind is SchemaKind.inplace:
        return [("self", output) for output in outputs]
    outs = function.arguments.out if function.kind is SchemaKind.out and outputs else ()
    return [(argument.name, output) for output, argument in zip(outputs, outs, strict=bool(outs))]


def written_checks(function: NativeFunction) -> list[str]:
    """Statements that check and resize out arguments, and check an argument that is written in place, as traces do.

    Overloads without requirements leave it to their kernels, and generated code of structured ones does it.
    """
    if requirements_of(function) is None or function.in_structured_group:
        return []
    is_inplace = function.kind is SchemaKind.inplace
    return [
        inplace_check(output, operator_name(function))
        if is_inplace
        else out_resize(output, name, operator_name(function))
        for name, output in written_outputs(function)
    ]


def stable_written_checks(function: NativeFunction) -> list[str]:
    """Checks of written arguments with the stable interface, which end the function that checks arguments."""
    if requirements_of(function) is None or any(key.is_composite for key in function.kernels):
        return []
    check = "check_inplace" if function.kind is SchemaKind.inplace else "resize_out"
    statements = []
    for name, output in written_outputs(function):
        statements.append(f"::opwright::{check}({check_variable(name)}, {output_facts(function, output)});")
    return statements


def output_facts(function: NativeFunction, output: DeclaredOutput) -> str:
    """Sizes, dtype and device of a declared output, separated by commas, with the types of `Sizes`."""
    printer = _PRINTER.about(output_subject(output, operator_name(function)))
    return f"{printer.sizes(output.size)}, {printer.text(output.dtype)}, {printer.text(output.device)}"


def operator_name(function: NativeFunction) -> str:
    """The operator in messages. One that saves results has the name of its entry."""
    written = library_fields(function).written
    return f"{function.namespace}::{function.name if written is None else written.name}"


def requirements_section(part: LibraryPart, context: FragmentContext) -> Section:
    """The functions that check the calls of a part's operators."""
    functions = [function for function in part.functions if has_checks(function)]
    has_more = any(copied_arguments(function) or written_checks(function) for function in part.functions)
    if not functions:
        return Section((REQUIREMENTS_HEADER,), "\n") if has_more else Section()
    texts = [check_function(function) for function in functions]
    return Section((REQUIREMENTS_HEADER,), enclose(f"{part.library.api}::opwright_checks", "\n".join(texts)) + "\n")


def check_function(function: NativeFunction, *, written: Sequence[str] = ()) -> str:
    """Definition of the function that checks the arguments of calls; `written` are statements at its end."""
    requirements = requirements_of(function)
    assert requirements is not None
    names = checked_arguments(function, are_written=bool(written))
    types = "".join([f", class Type{index}" for index in range(len(names))])
    parameters = ", ".join([f"const Type{index}& {check_variable(name)}" for index, name in enumerate(names)])
    lines = [f"  {_statement(operator_name(function), requirement)}" for requirement in requirements.checks]
    head = f"template <class Sizes{types}>\nstatic inline void {function.name.unambiguous}({parameters}) {{"
    lines += _value_statements(function, requirements)
    return "\n".join([head, *lines, *[f"  {statement}" for statement in written], "}"])


def check_call(function: NativeFunction, key: DispatchKey) -> str:
    """Statement that checks the arguments of a call under a dispatch key.

    Tensors in a trace reach the kernels of composite keys and of Meta, so sizes may be symbols there.
    """
    is_symbolic = key.is_composite or key is META
    requirements = requirements_of(function)
    assert requirements is not None
    with_sizes = dict(requirements.dims)

    def value(name: str, kind: str) -> str:
        if kind in ("Scalar", "Scalar?"):
            return f"::opwright::number({name})"
        if name in with_sizes and not is_symbolic:
            return f"::opwright::facts({name})"
        return f"::opwright::known({name})" if "SymInt" in kind and not is_symbolic else name

    return checks_call(function, f"::opwright::{'Symbolic' if is_symbolic else 'Concrete'}", value)


def stable_check_call(function: NativeFunction, *, is_composite: bool = False) -> str:
    """Call of the function that checks arguments with the stable interface; empty if nothing is checked."""
    are_written = bool(stable_written_checks(function))
    if not are_written and not has_checks(function):
        return ""
    return checks_call(
        function,
        "::opwright::Traced" if is_composite else "::opwright::Concrete",
        lambda name, kind: f"::opwright::facts({name})" if kind == "Tensor" else name,
        are_written=are_written,
    )


def checks_call(
    function: NativeFunction, sizes: str, value: Callable[[str, str], str], *, are_written: bool = False
) -> str:
    """Call of the function that checks; `value` gives what is passed for an argument of a type."""
    types = {argument.name: argument.type for argument in function.arguments.all}
    passed = [
        value(name, "Tensor" if types[name].is_tensor_like else types[name].text)
        for name in checked_arguments(function, are_written=are_written)
    ]
    api = function.library.api
    return f"::{api}::opwright_checks::{function.name.unambiguous}<{sizes}>({', '.join(passed)});"


# Each kernel of an operator asks again.
@lru_cache(maxsize=256)
def checked_arguments(function: NativeFunction, *, are_written: bool) -> tuple[str, ...]:
    """Arguments that conditions and messages read, or checks of what is written, in the order of the schema."""
    requirements = requirements_of(function)
    assert requirements is not None
    read = requirements.arguments()
    for name, output in written_outputs(function) if are_written else ():
        read = read.union([name], *map(argument_names, (output.size, output.dtype, output.device)))
    return tuple([argument.name for argument in function.arguments.all if argument.name in read])


def message_parts(operator: str, requirement: Requirement) -> list[str | OutputExpression]:
    """The message of a refused call: texts with values between them."""
    parts: list[str | OutputExpression] = [f"{operator}: "]
    for part in requirement.message:
        if not isinstance(part, str) and part.operation is OutputOperation.literal:
            part = part.text
        last = parts[-1]
        if isinstance(part, str) and isinstance(last, str):
            parts[-1] = last + part
        else:
            parts.append(part)
    return parts


def _statement(operator: str, requirement: Requirement) -> str:
    printer = _PRINTER.about(f"{operator}: {requirement.subject}")
    parts = [
        string_literal(part) if isinstance(part, str) else f"::opwright::shown({printer.text(part)})"
        for part in message_parts(operator, requirement)
    ]
    text = f"OPWRIGHT_REQUIRE(({condition_text(requirement.condition, printer)}), {', '.join(parts)});"
    return _where(text, requirement.each, requirement.given, printer)


def _where(text: str, each: str, given: Sequence[OutputExpression], printer: ExpressionPrinter) -> str:
    """A statement for each item of a list, where optional arguments are given."""
    if each:
        item, index = map(check_variable, (item_name(each), index_name(each)))
        tensors = check_variable(each)
        text = (
            f"for (int64_t {index} = 0; {index} < ::opwright::length({tensors}); ++{index}) {{ "
            f"const auto& {item} = ::opwright::tensor_at({tensors}, {index}); {text} }}"
        )
    if given:
        condition = " && ".join([f"::opwright::has({printer.text(argument)})" for argument in given])
        text = f"if ({condition}) {{ {text} }}"
    return text


#: What elements are asked about the words for values.
_ORDER_CALLS: Final = {
    "ascending": "is_ascending(false)",
    "increasing": "is_ascending(true)",
    "distinct": "is_distinct()",
    "finite": "is_finite()",
}


def _value_statements(function: NativeFunction, requirements: Requirements) -> list[str]:
    """Statements that check the values of tensors, where a program asks for it."""
    if not requirements.values:
        return []
    operator = operator_name(function)
    lines = [_value_statement(operator, value) for value in requirements.values]
    opening = "  if constexpr (Sizes::reads_values) { if (::opwright::checks_values()) {"
    return [opening, *[f"    {line}" for line in lines], "  } }"]


def _value_statement(operator: str, value: ValueCondition) -> str:
    printer = _PRINTER.about(f"{operator}: `{value.written}`")
    type = "int64_t" if value.is_integer else "double"
    elements = check_variable(f"opwright {value.name} elements")
    parts = [
        string_literal(part) if isinstance(part, str) else f"::opwright::shown({printer.text(part)})"
        for part in [f"{operator}: ", *value.message]
    ]
    lines = [f"const auto {elements} = ::opwright::elements<{type}>({printer.text(value.tensor)});"]
    if value.condition is None:
        condition = f"{elements}.{_ORDER_CALLS[value.written]}"
    else:
        condition = printer.text(value.condition)
        for place in value.places:
            element = check_variable(place_name(value.name, place))
            lines.append(f"const auto {element} = {elements}.at({place}, {printer.where});")
        if value.is_each:
            lines.append(f"for (const auto {check_variable(element_name(value.name))} : {elements}.values)")
    lines.append(f"{{ OPWRIGHT_REQUIRE(({condition}), {', '.join(parts)}); }}")
    return _where(f"{{ {' '.join(lines)} }}", value.each, value.given, printer)


def condition_text(condition: OutputExpression, printer: ExpressionPrinter = _PRINTER) -> str:
    """A condition in C++. Comparisons of sizes by themselves are what a trace expects."""
    if integer_sides(condition) is None:
        return printer.text(condition)
    # What computes the sides may stand around the comparison.
    return printer.expecting().text(condition)
