"""The code with which TVM FFI calls kernels over borrowed tensors: exported C functions, and typed Python ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from opwright.convention.dispatcher import returned_arguments
from opwright.emit.emitter import AnyEmitter, Emitter, FilePerUnit, FragmentContext, Job, Slots
from opwright.libraries.frameworks.calls import view_libraries
from opwright.libraries.frameworks.jax_code import ANNOTATIONS, docstring, parameters, passed, result_class
from opwright.libraries.frameworks.view_convention import ViewLibrary, ViewOperator, returned_places
from opwright.syntax.python import string_literal

_ANNOTATIONS: Final = {**ANNOTATIONS, "tensor": "Any", "tensors": "Sequence[Any]"}


def tvm_ffi_units(job: Job) -> Sequence[ViewLibrary]:
    """The libraries that TVM FFI calls."""
    return [unit for unit in view_libraries(job) if "tvm_ffi" in unit.library.frameworks]


def _source(unit: ViewLibrary, context: FragmentContext) -> Slots:
    functions = [
        f"OPWRIGHT_TVM_FFI_FUNCTION({unit.table}, {operator.name}, {operator.place}, {returned_places(operator)})"
        for operator in unit.operators
    ]
    return {"namespace": unit.namespace, "table": unit.table, "functions": "\n".join(functions)}


def _function(unit: ViewLibrary, operator: ViewOperator) -> str:
    function = operator.function
    names = [(name or "") for name in returned_arguments(function.schema)]
    named = [(result.name or name, 0) for result, name in zip(function.schema.returns, names, strict=True)]
    make, annotation, text = result_class(operator, "Any", named)
    call = f"_operator_{operator.place}({passed(function)})"
    head = ""
    if len(named) > 1:
        # To iterate over an array of TVM FFI takes longer than to ask for its items.
        head = f"    _results = {call}\n"
        items = ", ".join([f"_results[{place}]" for place in range(len(named))])
        call = f"{make if text else ''}({items})"
    lookup = f"_operator_{operator.place} = _functions.get_function({string_literal(operator.name)})\n"
    body = f"    return {call}" if named else f"    {call}"
    statements = f"{docstring(operator)}\n{head}{body}\n"
    definition = f"def {operator.name}({parameters(function, _ANNOTATIONS)}) -> {annotation}:\n{statements}"
    return "\n\n".join([*([text] if text else []), lookup, definition])


def _module(unit: ViewLibrary, context: FragmentContext) -> Slots:
    functions = [_function(unit, operator) for operator in unit.operators]
    exported = sorted([operator.name for operator in unit.operators])
    return {
        "namespace": unit.namespace,
        "package": unit.library.python_package,
        "exported": "\n".join([f'    "{name}",' for name in exported]),
        "functions": "\n\n".join(functions),
    }


def emitters(job: Job) -> list[AnyEmitter]:
    """Emitters of the source and of the module."""
    return [
        Emitter(
            name="view_library_tvm_ffi_sources",
            family="library",
            template="frameworks/tvm_ffi.cpp",
            folder="source",
            units=tvm_ffi_units,
            fragment=_source,
            layout=FilePerUnit(lambda unit: f"{unit.library.library.headers}/tvm_ffi.cpp"),
        ),
        Emitter(
            name="view_library_tvm_ffi_modules",
            family="library",
            template="frameworks/tvm_ffi.py.in",
            folder="python",
            units=tvm_ffi_units,
            fragment=_module,
            layout=FilePerUnit(lambda unit: f"{unit.package}/tvm_ffi.py"),
        ),
    ]
