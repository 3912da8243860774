"""Module `_overloads.py` of a library: overloads that call another form of their operator, where C++ has none.

They are those that contracts make of an operator that writes its results, those that are synthesized, and operators
that return a part of what the one with the kernel returns. Python defines them too, because the stable API has no name
for the tag by which Inductor finds out overloads.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from opwright.convention.dispatcher import returned_arguments
from opwright.libraries.emit.python.output_text import allocation, check_statements, written_check
from opwright.libraries.emit.python.registrations import (
    PackageModule,
    operator_expression,
    parameters_of,
    passed_arguments,
    where_defined,
)
from opwright.libraries.emit.requirements import operator_name
from opwright.libraries.entry_fields import library_fields, outputs_of
from opwright.libraries.operator_library import OperatorLibrary
from opwright.model.native_function import NativeFunction, NativeFunctionsGroup
from opwright.schema.function import SchemaKind
from opwright.syntax.python import string_literal, variable_name


def calls_another_form(function: NativeFunction) -> bool:
    """Whether an overload of a stable library calls another form of its operator."""
    return library_fields(function).contract_of is not None or function.is_synthesized


def _overloads(library: OperatorLibrary) -> list[tuple[NativeFunction, NativeFunction]]:
    """Overloads of a library that call another form, each with this form."""
    written = {function.schema: function for function in library.catalog.functions}
    overloads = []
    for function in library.catalog.functions if library.is_stable else ():
        if calls_another_form(function):
            schema = library_fields(function).contract_of or library_fields(function).returned_from
            overloads.append((function, written[schema] if schema is not None else _called(function)))
    return sorted(overloads, key=lambda pair: calls_another_form(pair[1]))


def _called(function: NativeFunction) -> NativeFunction:
    """Form that a synthesized one calls: the functional one, or one that writes to its arguments."""
    group = function.group
    assert isinstance(group, NativeFunctionsGroup)
    forms = (group.functional,) if function is group.out else (group.inplace, group.mutable)
    return next(form for form in forms if form is not None and (not form.is_synthesized or function is group.out))


def _overload(pair: tuple[NativeFunction, NativeFunction]) -> tuple[str]:
    """Definition of an overload, its kernel, and the registration."""
    function, called = pair
    name = f"_{function.name.unambiguous}"
    keys, has_gradient = ["CompositeExplicitAutograd"], False
    if library_fields(function).returned_from is not None:
        statements = _returning(function, called, f"{name}_called")
        # The operator that it calls has the gradient, also below `vmap`.
        keys, has_gradient = ["CompositeImplicitAutograd", "FuncTorchBatchedDecomposition"], True
    elif library_fields(function).contract_of is not None:
        statements = _contract(function, called, f"{name}_called")
    elif isinstance(function.group, NativeFunctionsGroup) and function is function.group.out:
        statements = _copying(function, called, f"{name}_called")
    else:
        statements = _cloning(called, f"{name}_called")
    parameters, renaming = parameters_of(function)
    schema = string_literal(function.schema.written_text)
    lines = [
        f"_library.define({schema}, tags=_tags({', '.join(map(string_literal, sorted(function.tags)))}))",
        f"{name}_called = {operator_expression(called)}",
        "",
        "",
        f"def {name}_kernel({parameters}):",
        *[line.rstrip() for line in renaming],
        *([] if has_gradient else ["    with _below_autograd():"]),
        *[f"    {'' if has_gradient else '    '}{statement}" for statement in statements],
        "",
        "",
        *[f'_library.impl("{function.name.text}", {name}_kernel, "{key}")' for key in keys],
        "",
    ]
    return (where_defined(called, "\n".join(lines)),)


def _result(values: Sequence[str]) -> str:
    return f"return {', '.join(values) if len(values) != 1 else values[0]}" if values else "return"


def _contract(function: NativeFunction, called: NativeFunction, operator: str) -> Iterator[str]:
    """Statements of an overload for a contract: it prepares what the operator writes to."""
    written = [argument.name for argument in called.arguments.all if argument.is_write]
    outputs = outputs_of(function)
    yield from check_statements(function)
    if function.kind is SchemaKind.functional:
        targets = list(map(variable_name, written))
        yield from [
            f"{name} = {allocation(output, operator_name(function))}"
            for name, output in zip(targets, outputs, strict=True)
        ]
    elif function.kind is SchemaKind.out:
        targets = [variable_name(argument.name) for argument in function.arguments.out]
        yield from [written_check(function, output, name) for name, output in zip(targets, outputs, strict=True)]
    else:
        targets = ["self"]
        yield from [written_check(function, output, "self") for output in outputs]
    places = dict(zip(written, targets, strict=True))
    argument_names = {argument.name for argument in function.arguments.all}
    passed = passed_arguments(
        called,
        lambda argument: (
            places.get(argument.name) or (variable_name(argument.name) if argument.name in argument_names else "self")
        ),
    )
    yield f"{operator}({', '.join(passed)})"
    yield _result(targets)


def _returning(function: NativeFunction, called: NativeFunction, operator: str) -> Iterator[str]:
    """Statements of an operator that returns some of the results of another one."""
    yield f"_results = {operator}({', '.join(passed_arguments(called))})"
    yield _result([f"_results[{place}]" for place in library_fields(function).returned])


def _cloning(called: NativeFunction, operator: str) -> Iterator[str]:
    """Statements of a functional overload that calls one that writes to copies of its arguments."""
    written = [variable_name(argument.name) for argument in called.arguments.all if argument.is_write]
    yield from [f"{name} = _clone({name})" for name in written]
    returned = returned_arguments(called.schema)
    yield f"_results = {operator}({', '.join(passed_arguments(called))})"
    fresh = [f"_results[{index}]" for index, name in enumerate(returned) if name is None]
    yield _result([*(["_results"] if len(returned) == 1 and fresh else fresh), *written])


def _copying(function: NativeFunction, called: NativeFunction, operator: str) -> Iterator[str]:
    """Statements of an out overload that copies what the functional one returns."""
    yield f"_results = {operator}({', '.join(passed_arguments(called))})"
    count = len(called.schema.returns)
    results = ["_results"] if count == 1 else [f"_results[{index}]" for index in range(count)]
    outs = [variable_name(argument.name) for argument in function.arguments.out]
    yield from [f"_copied({out}, {result})" for out, result in zip(outs, results, strict=False)]
    changed = [variable_name(argument.name) for argument in function.arguments.non_out if argument.is_write]
    yield from [f"_copied({name}, {result})" for name, result in zip(changed, results[len(outs) :], strict=True)]
    returned = returned_arguments(function.schema)
    yield _result([results[index] if name is None else variable_name(name) for index, name in enumerate(returned)])


MODULE: Final = PackageModule("overloads", _overloads, _overload, ("outputs", "overloads"))
