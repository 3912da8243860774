"""The C++ that all frameworks share: declarations of kernels, checks of calls, and the table of operators.

Nothing of any framework is included, so that the object compiles in less than a second and serves all of them.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Final

from opwright.cpp.namespaces import blocks, enclose, qualified_name
from opwright.cpp.text import include_line, string_literal
from opwright.emit.emitter import AnyEmitter, Emitter, FilePerUnit, FragmentContext, Job, Slots, per_job
from opwright.libraries.emit.overlap import checks_overlap, may_be_written
from opwright.libraries.emit.python.calls import literal
from opwright.libraries.emit.requirements import (
    check_function,
    check_variable,
    checks_call,
    has_checks,
    output_facts,
    stable_written_checks,
)
from opwright.libraries.entry_fields import outputs_of, requirements_of
from opwright.libraries.frameworks.view_convention import (
    ViewLibrary,
    ViewOperator,
    new_results,
    passed_type,
    signature,
    view_library,
    view_type,
)
from opwright.libraries.operator_library import RunLibraries
from opwright.libraries.requirements import Requirements
from opwright.model.native_function import NativeFunction
from opwright.schema.function import Argument
from opwright.schema.types import OptionalType

#: The C++ namespace of what is generated, below that of the library.
_CALLS: Final = "opwright_calls"


@per_job
def view_libraries(job: Job) -> Sequence[ViewLibrary]:
    """The libraries of a run whose kernels get borrowed tensors."""
    return [view_library(library) for library in job.of(RunLibraries).libraries if library.takes_views]


def _kernels_header(unit: ViewLibrary, context: FragmentContext) -> Slots:
    namespaces: dict[str, dict[str, None]] = {}
    for operator in () if unit.library.includes else unit.operators:
        for kernel in operator.kernels.values():
            declared = f"{signature(operator.function).declaration(kernel.name)};"
            namespaces.setdefault(kernel.namespace, {})[declared] = None
    includes = list(map(include_line, unit.library.includes))
    return {"namespace": unit.namespace, "includes": includes, "kernels": blocks(namespaces)}


def _source(unit: ViewLibrary, context: FragmentContext) -> Slots:
    api = unit.library.library.api
    checked = [
        check_function(operator.function, written=stable_written_checks(operator.function))
        for operator in unit.operators
        if _has_check_function(operator)
    ]
    checks = enclose(f"{api}::opwright_checks", "\n".join(checked)) + "\n" if checked else ""
    lines = ["namespace {", "", _table(unit), "", *map(_functions, unit.operators), "} // namespace", ""]
    rows = ",\n".join(["    " + _row(operator) for operator in unit.operators])
    count = len(unit.operators)
    lines.append(f"const ::opwright::Operator operators[{max(count, 1)}] = {{\n{rows}\n}};")
    return {
        "namespace": unit.namespace,
        "kernels_header": f"{unit.library.library.headers}/kernels.h",
        "checks": checks,
        "calls": enclose(f"{api}::{_CALLS}", "\n".join(lines)),
        "table": f"OPWRIGHT_EXPORT const ::opwright::Operator* {unit.table}() {{\n"
        f"  return ::{api}::{_CALLS}::operators;\n}}",
    }


def _has_check_function(operator: ViewOperator) -> bool:
    return has_checks(operator.function) or bool(stable_written_checks(operator.function))


def _table(unit: ViewLibrary) -> str:
    """The tables of arguments, and declarations of what the functions of an operator need of each other."""
    tables = []
    for operator in unit.operators:
        rows = [
            f"    {_argument(argument, layouts_of(operator).get(argument.name, 'any'))},\n"
            for argument in operator.function.arguments.all
        ]
        if rows:
            tables.append(f"const ::opwright::Argument arguments_{operator.place}[] = {{\n{''.join(rows)}}};")
    declared = f"extern const ::opwright::Operator operators[{max(len(unit.operators), 1)}];"
    return "\n".join(["} // namespace", declared, "namespace {", *tables])


def layouts_of(operator: ViewOperator) -> dict[str, str]:
    """Arguments that a kernel gets in a layout, and the layout: the first one of several that it takes."""
    requirements = requirements_of(operator.function)
    return {} if requirements is None else {copied.name: copied.layouts[0] for copied in requirements.copied}


def _argument(argument: Argument, layout: str) -> str:
    form = passed_type(argument)
    has_default, default = default_value(argument)
    facts = [
        string_literal(argument.name),
        f"::opwright::Kind::{form.kind}",
        str(isinstance(argument.type, OptionalType)).lower(),
        str(argument.is_write).lower(),
        f"::opwright::Layout::{layout}",
        str(has_default).lower(),
        default,
    ]
    return f"{{{', '.join(facts)}}}"


def python_default(argument: Argument) -> object:
    """The default of an argument as a value of Python.

    >>> from opwright.schema import parse_schema
    >>> arguments = parse_schema("f(float eps=1e-6, int[2] size=3, str mode='mean') -> ()").arguments.all
    >>> [python_default(argument) for argument in arguments]
    [1e-06, [3, 3], 'mean']
    """
    value: object = ast.literal_eval(literal(argument, ""))
    type = argument.type.elem if isinstance(argument.type, OptionalType) else argument.type
    form = view_type(argument.type)
    if form is None or value is None:
        return value
    if form.kind in ("integers", "reals", "booleans"):
        size = getattr(type, "size", None)
        return list(value) if isinstance(value, (list, tuple)) else [value] * (size or 1)
    if form.kind == "real" and isinstance(value, int):
        return float(value)
    return value


def default_value(argument: Argument) -> tuple[bool, str]:
    """Whether an argument has a default, and the C++ text of its `Value`."""
    if argument.default is None:
        return False, "{}"
    value, form = python_default(argument), passed_type(argument)
    if value is None:
        return True, "{}"
    if isinstance(value, str):
        text = string_literal(value)
        return True, f"::opwright::value_of({text}, sizeof({text}) - 1)"
    if isinstance(value, list):
        if not value:
            return True, "::opwright::value_of(nullptr, 0)"
        cpp = {"integers": "int64_t", "reals": "double", "booleans": "bool"}[form.kind]
        items = ", ".join(map(_number, value))
        statements = f"static const {cpp} items[] = {{{items}}}; return ::opwright::value_of(items, {len(value)});"
        return True, f"[] {{ {statements} }}()"
    assert isinstance(value, (bool, int, float))
    cpp = "double" if form.kind == "real" else "int64_t"
    return True, f"::opwright::value_of({cpp}({_number(value)}))"


def _number(value: object) -> str:
    if isinstance(value, float) and value in (float("inf"), float("-inf")):
        return f"{'-' if value < 0 else ''}HUGE_VAL"
    if isinstance(value, bool):
        return str(value).lower()
    return "INT64_MIN" if value == -(2**63) else repr(value)


def _has_values(function: NativeFunction) -> bool:
    """Whether an entry says which values tensors may have."""
    return has_checks(function) and bool((requirements_of(function) or Requirements()).values)


def _checked_facts(operator: ViewOperator, sizes: str) -> list[str]:
    """Statements that name what checks ask of the arguments of a call, and check it."""
    function = operator.function
    lines = [f"  using Sizes [[maybe_unused]] = {sizes};"]
    for index, argument in enumerate(function.arguments.all):
        read = passed_type(argument).facts.format(f"opwright_values[{index}]")
        lines.append(f"  [[maybe_unused]] const auto {check_variable(argument.name)} = {read};")
    if _has_check_function(operator):
        are_written = bool(stable_written_checks(function))
        call = checks_call(function, sizes, lambda name, kind: check_variable(name), are_written=are_written)
        lines.append(f"  {call}")
    return lines


def _functions(operator: ViewOperator) -> str:
    """The functions of an operator: what checks a call and says its results, and what calls each kernel."""
    function, place = operator.function, operator.place
    arguments = function.arguments.all
    head = "const ::opwright::Value* opwright_values"
    lines = [f"void infer_{place}([[maybe_unused]] {head}, [[maybe_unused]] ::opwright::Result* opwright_results) {{"]
    if checks_overlap(function):
        also = [index for index, argument in enumerate(arguments) if may_be_written(function, argument)]
        more = f", {also[0]}" if also else ""
        lines.append(f"  ::opwright::check_overlap(operators[{place}], opwright_values{more});")
    if not has_checks(function) and any(argument.type.is_tensor_like for argument in arguments):
        lines.append(f"  ::opwright::check_devices(operators[{place}], opwright_values);")
    lines += _checked_facts(operator, "::opwright::Traced")
    subject = string_literal(f"{function.namespace}::{function.name}: the size of the result")
    for index, output in enumerate(outputs_of(function) if new_results(function) else ()):
        lines.append(
            f"  ::opwright::set_result(opwright_results[{index}], {output_facts(function, output)}, {subject});"
        )
    lines.append("}")
    if _has_values(function):
        lines.append(f"void check_values_{place}({head}) {{")
        lines.append(f"  if (!::opwright::checks_values(operators[{place}], opwright_values)) return;")
        lines += [*_checked_facts(operator, "::opwright::Concrete"), "}"]
    for device, kernel in operator.kernels.items():
        passed = [
            passed_type(argument).value.format(f"opwright_values[{index}]") for index, argument in enumerate(arguments)
        ]
        passed += [f"opwright_results[{index}]" for index in range(len(new_results(function)))]
        called = f"{qualified_name(kernel.namespace, kernel.name)}({', '.join(passed)})"
        parameters = f"[[maybe_unused]] {head}, [[maybe_unused]] const ::opwright::TensorView* opwright_results"
        lines.append(f"void {device}_{place}({parameters}) {{\n  {called};\n}}")
    return "\n".join([*lines, ""])


def _row(operator: ViewOperator) -> str:
    function = operator.function
    arguments = function.arguments.all
    kernels = [f"&{device}_{operator.place}" if device in operator.kernels else "nullptr" for device in ("cpu", "cuda")]
    facts = [
        string_literal(f"{function.namespace}::{function.name}"),
        f"arguments_{operator.place}" if arguments else "nullptr",
        str(len(arguments)),
        str(len(new_results(function))),
        f"&infer_{operator.place}",
        "&::opwright::copied_argument",
        "&::opwright::refuse_call",
        f"&check_values_{operator.place}" if _has_values(function) else "nullptr",
        f"{{{', '.join(kernels)}}}",
    ]
    return f"{{{', '.join(facts)}}}"


def emitters(job: Job) -> list[AnyEmitter]:
    """Emitters of the header with the kernels' declarations, and of the source that all frameworks share."""
    return [
        Emitter(
            name="view_library_kernels_headers",
            family="library",
            template="frameworks/kernels.h",
            folder="include",
            units=view_libraries,
            fragment=_kernels_header,
            layout=FilePerUnit(lambda unit: f"{unit.library.library.headers}/kernels.h"),
        ),
        Emitter(
            name="view_library_calls",
            family="library",
            template="frameworks/calls.cpp",
            folder="source",
            units=view_libraries,
            fragment=_source,
            layout=FilePerUnit(lambda unit: f"{unit.library.library.headers}/calls.cpp"),
        ),
    ]
