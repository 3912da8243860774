"""Module `_fakes.py` of a library: what operators return while PyTorch traces, where C++ cannot say it.

The stable API has no symbolic sizes, and no C++ API makes sizes that depend on values, so shapes are registered from
Python.
"""

from __future__ import annotations

from typing import Final

from opwright.convention.dispatcher import returned_arguments
from opwright.libraries.declared_outputs import depends_on_values
from opwright.libraries.emit.meta_kernels import returns_arguments
from opwright.libraries.emit.python.output_text import allocation, check_statements, written_check
from opwright.libraries.emit.python.registrations import functions_module, parameters_of
from opwright.libraries.emit.requirements import operator_name, outputs_of_written
from opwright.libraries.entry_fields import library_fields
from opwright.model.native_function import NativeFunction, NativeFunctionsGroup
from opwright.syntax.python import variable_name


def has_fake(function: NativeFunction) -> bool:
    """Whether it is known what a function returns: declared outputs, or arguments that it writes."""
    is_known = bool(library_fields(function).outputs) or returns_arguments(function.schema)
    return is_known and not function.has_composite_implicit


def _fakes(function: NativeFunction) -> tuple[str]:
    """Registration of one function's fake."""
    head = f'@_torch.library.register_fake("{function.namespace}::{function.name.text}", lib=_library)'
    return (f"{head}\n{fake_function(function, f'_fake_{function.name.unambiguous}')}",)


def fake_function(function: NativeFunction, name: str) -> str:
    """Function that checks a call and makes results. PyTorch leaves out arguments that have their default value."""
    parameters, lines = parameters_of(function)
    statements = check_statements(_judge(function))
    statements += [written_check(function, output, name) for name, output in outputs_of_written(function)]
    lines += [f"    {statement}\n" for statement in statements]
    return f"def {name}({parameters}):\n{''.join(lines)}    return {_results(function)}\n"


def check_function(function: NativeFunction, name: str) -> str:
    """Function that only checks a call, of an operator without declared outputs; empty if nothing is checked."""
    statements = check_statements(function)
    if not statements:
        return ""
    parameters, lines = parameters_of(function)
    lines += [f"    {statement}\n" for statement in statements]
    return f"def {name}({parameters}):\n{''.join(lines)}"


def _judge(function: NativeFunction) -> NativeFunction:
    """The overload that refuses calls: an out overload that copies leaves it to the functional one."""
    group = function.group
    is_copying = function.is_synthesized and library_fields(function).contract_of is None
    if is_copying and isinstance(group, NativeFunctionsGroup) and function is group.out:
        return group.functional
    return function


def _results(function: NativeFunction) -> str:
    outputs = iter(library_fields(function).outputs)
    results = [
        variable_name(name) if name is not None else allocation(next(outputs), operator_name(function))
        for name in returned_arguments(function.schema)
    ]
    if not results:
        return "None"
    return results[0] if len(results) == 1 else f"({', '.join(results)})"


def _has_python_fake(function: NativeFunction) -> bool:
    is_left = function.library.is_stable or depends_on_values(library_fields(function).outputs)
    return is_left and has_fake(function)


MODULE: Final = functions_module("fakes", _has_python_fake, _fakes, openings=("outputs", "fakes"))
