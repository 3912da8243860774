"""Module `_overlap.py` of a library: checks of operators that write, while PyTorch traces programs that call them.

C++ checks the tensors of eager calls (`libraries/emit/overlap.py`). A program is checked before PyTorch makes it
functional, because afterwards it reads everything before it writes. Inductor then lets operators write in place again,
and removes copies; where both together let one read what it writes, this module gives it the copy back. It also passes
copies of views that PyTorch 2.13 would look for at a wrong place.
"""

from __future__ import annotations

from opwright.emit.emitter import AnyEmitter, Job
from opwright.libraries.emit.overlap import checks_overlap, may_be_written
from opwright.libraries.emit.python.registrations import functions_emitter, operator_expression
from opwright.libraries.operator_library import OperatorLibrary
from opwright.model.native_function import NativeFunction
from opwright.syntax.python import string_literal


def functions_with_overlap_checks(library: OperatorLibrary) -> tuple[NativeFunction, ...]:
    """Functions of a library whose written arguments are checked."""
    return tuple([function for function in library.catalog.functions if checks_overlap(function)])


def _registrations(function: NativeFunction) -> tuple[str]:
    written = [argument.name for argument in function.arguments.all if may_be_written(function, argument)]
    also_written = f", {tuple(written)!r}" if written else ""
    signature = str(function.schema).removeprefix(str(function.name))
    copying = f"_{function.name.unambiguous}_of_copies"
    name = string_literal(f"{function.namespace}::{function.name}")
    operator = f"lambda: {operator_expression(function)}"
    passed = f"{name}, {operator}, {string_literal(copying)}, {string_literal(signature)}{also_written}"
    return (f"_add_checks({passed})\n",)


def emitters(job: Job) -> list[AnyEmitter]:
    """Emitter of the module."""
    return [functions_emitter("overlap", functions_with_overlap_checks, _registrations)]
