"""Declarations of kernels compiled ahead of time: `torch/_native/ops/NAME/aot.py`, from 2.15 on.

PyTorch's build runs these Python modules. Opwright reads constants from them without running them.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from opwright.dialects.dialect import LoadContext
from opwright.dialects.nearest_key import suggested_key
from opwright.dialects.python_source import first_line, literal, node_span, parse_module
from opwright.model.catalog import Catalog
from opwright.model.dispatch_key import KEYS, key_named
from opwright.model.more_inputs import NativeAotKernel
from opwright.model.native_function import NativeFunctionsGroup
from opwright.source import codes
from opwright.source.diagnostic import Diagnostics, Fault, did_you_mean
from opwright.source.span import Span
from opwright.source.text import SourceFile

_REQUIRED: Final = ("ATEN_OP", "DISPATCH_KEY", "KERNEL_MODULE")
_FAMILY: Final = "declarations"


def load(files: Sequence[SourceFile], context: LoadContext) -> tuple[NativeAotKernel, ...]:
    """Kernels that a release declares; none for releases that make no stubs for them."""
    return load_native_aot(files, context.operators, context.sink) if context.rules.native_aot_stubs else ()


def load_native_aot(files: Iterable[SourceFile], catalog: Catalog, sink: Diagnostics) -> tuple[NativeAotKernel, ...]:
    """Kernels that the files declare, ordered by key and operator; faults go to `sink`.

    A partial catalog gives the kernels of its operators.
    """
    structured: dict[str, list[NativeFunctionsGroup]] = {}
    for group in catalog.structured_groups:
        structured.setdefault(group.functional.name.base, []).append(group)
    kernels: dict[tuple[str, str], NativeAotKernel] = {}
    for file in files:
        try:
            kernel = _kernel(file, structured, catalog)
            if kernel is None:
                continue
            if kernels.setdefault((kernel.key.name, kernel.operator), kernel) is not kernel:
                raise Fault.at(
                    codes.AOT_TWICE, f"`{kernel.operator}` for {kernel.key} is declared twice", first_line(file)
                )
        except Fault as fault:
            sink.add(fault.diagnostic)
    return tuple(kernel for _, kernel in sorted(kernels.items()))


def _kernel(
    file: SourceFile, structured: Mapping[str, list[NativeFunctionsGroup]], catalog: Catalog
) -> NativeAotKernel | None:
    """Kernel that a file declares; None if its operator is left out, or missing because of another fault."""
    values = _constants(file)
    for name in _REQUIRED:
        node = values.get(name)
        if node is None:
            raise Fault.at(codes.AOT_DECLARATION, f"there is no constant `{name}`", first_line(file))
        if not isinstance(literal(node), str):
            raise Fault.at(codes.AOT_DECLARATION, f"`{name}` is not a literal text", node_span(file, node))
    operator, key = (str(literal(values[name])) for name in ("ATEN_OP", "DISPATCH_KEY"))
    if key not in KEYS:
        message = f"unknown dispatch key `{key}`"
        raise Fault.at(
            codes.AOT_DECLARATION, message, node_span(file, values["DISPATCH_KEY"]), help=suggested_key(key, KEYS)
        )
    unconditional = literal(values["UNCONDITIONAL"]) if "UNCONDITIONAL" in values else False
    if not isinstance(unconditional, bool):
        message = "`UNCONDITIONAL` is not `True` or `False`"
        raise Fault.at(codes.AOT_DECLARATION, message, node_span(file, values["UNCONDITIONAL"]))
    base = operator.partition(".")[0]
    is_left_out = catalog.is_partial and all(function.name.base != base for function in catalog.functions)
    if base not in structured and (is_left_out or catalog.may_lack(operator)):
        return None
    group = _group(operator, structured, node_span(file, values["ATEN_OP"]))
    return NativeAotKernel(operator, key_named(key), unconditional, group)


def _group(operator: str, structured: Mapping[str, list[NativeFunctionsGroup]], at: Span) -> NativeFunctionsGroup:
    """The one structured operation of that name."""
    groups = structured.get(operator.partition(".")[0], [])
    matching = [group for group in groups if "." not in operator or group.functional.name.text == operator]
    if len(matching) == 1:
        return matching[0]
    names = [group.functional.name.text for group in groups]
    if matching:
        message = f"`{operator}` is several structured operations"
        raise Fault.at(codes.AOT_OPERATOR, message, at, help=f"name one of them: {', '.join(sorted(names))}")
    message = f"`{operator}` is not a structured operation"
    raise Fault.at(codes.AOT_OPERATOR, message, at, help=did_you_mean(operator, [*structured, *names]))


def _constants(file: SourceFile) -> dict[str, ast.expr]:
    """The values assigned to names at the top of the module."""
    values: dict[str, ast.expr] = {}
    for statement in parse_module(file, codes.AOT_DECLARATION).body:
        if isinstance(statement, ast.Assign):
            values.update((target.id, statement.value) for target in statement.targets if isinstance(target, ast.Name))
        elif isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name) and statement.value:
            values[statement.target.id] = statement.value
        elif isinstance(statement, ast.FunctionDef) and statement.name == _FAMILY:
            message = "only running a function would tell which kernels it declares"
            raise Fault.at(codes.AOT_DECLARATION, message, first_line(file), help="declare each in a file of its own")
    return values
