"""Boxed functions for the registry of TorchScript: `UnboxingFunctions.{h,cpp}`, `RegisterCodegenUnboxedKernels.cpp`.

They take their arguments from a stack of boxed values and call the public C++ API. Builds for small devices use them
in place of the dispatcher.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from opwright.convention import public_api
from opwright.convention.defaults import default_expression
from opwright.convention.unboxing import unbox
from opwright.cpp.binding import Binding, Expression
from opwright.cpp.text import string_literal
from opwright.cpp.translation import translate
from opwright.emit.emitter import AnyEmitter, Emitter, Job, OneFile, Sharded
from opwright.model.native_function import NativeFunction
from opwright.model.selection import qualified_name
from opwright.schema.function import Argument
from opwright.source.codes import BOXED_OUTSIDE
from opwright.source.diagnostic import Diagnostics

#: The program that the files name as their maker.
_LAUNCHER: Final = "tools/jit/gen_unboxing.py"

#: From so many selected operators on, the sources are sharded.
_MANY: Final = 100


def declaration(function: NativeFunction) -> str:
    """Declaration of a boxed function."""
    library = function.library
    return f"""
// {library.namespace}::{function.schema}
{library.export} void {function.name.unambiguous}(Stack & stack);
"""


def _arguments(parameters: tuple[Binding, ...]) -> list[Argument]:
    """Arguments behind the parameters of a most faithful signature: each parameter has one."""
    return [parameter.argument for parameter in parameters if isinstance(parameter.argument, Argument)]


def definition(function: NativeFunction) -> str:
    """Boxed function: it takes values from the stack, calls the function or method, and puts the results back."""
    library = function.library
    taken = public_api.function_signatures(function).most_faithful.bindings
    values = [unbox(argument, function.style) for argument in _arguments(taken)]
    count = len(taken)
    lines = [
        f"c10::IValue {binding.name} = std::move(peek(stack, {index}, {count}));" for index, binding in enumerate(taken)
    ]
    lines.append("")
    for value in values:
        lines += value.vectors
        lines += value.statements
    given = tuple(
        [Expression(value.name, binding.role, binding.type) for value, binding in zip(values, taken, strict=True)]
    )
    if function.method:
        signature = public_api.method_signatures(function).most_faithful
        called = "self_base."
    else:
        signature = public_api.function_signatures(function).most_faithful
        called = f"{library.api}::"
    name = public_api.name(function.schema, faithful=signature.faithful)
    passed = ", ".join(translate(given, signature.bindings, method=function.method))
    keeping, packed = "", ""
    if function.schema.returns:
        keeping, packed = "auto result_ = ", "\n    pack(stack, std::move(result_));\n"
    body = "\n\t".join(lines)
    return f"""
// {library.namespace}::{function.schema}
{library.export} void {function.name.unambiguous}(Stack & stack) {{
    {body}

    drop(stack, {count});

    {keeping}{called}{name}({passed});
    {packed}
}}
"""


def _registered_argument(argument: Argument) -> str:
    default = "::std::nullopt"
    kind = "c10::IValue"
    if argument.default:
        default = default_expression(argument.default, argument.type, symint=False)
        kind = "c10::IntArrayRef" if default.startswith("{") else kind
    return f'c10::Argument("{argument.name}", nullptr, ::std::nullopt, {kind}({default}))'


def registration(function: NativeFunction) -> str:
    """Registration of a boxed function with TorchScript."""
    signature = public_api.function_signatures(function).most_faithful
    arguments = list(map(_registered_argument, _arguments(signature.bindings)))
    returns = [f'c10::Argument("{result.name or ""}")' for result in function.schema.returns]
    joined = ",\n\t\t".join
    name, library = function.name, function.library
    return f"""
// {library.namespace}::{string_literal(str(function.schema))[1:-1]}
OperatorGenerator(
    "{library.namespace}::{name.name}",
    "{name.overload}",
    {{
        {joined(arguments)}
    }},
    {{
        {joined(returns)}
    }},
    [](Stack & stack) {{
        RECORD_FUNCTION("{public_api.name(function.schema, faithful=signature.faithful)}", std::vector<c10::IValue>());
        {library.unboxing}::{name.unambiguous}(stack);
    }},
    aliasAnalysisFromSchema()
),
"""


def _selected_functions(job: Job) -> list[NativeFunction]:
    """Selected overloads. Like their boxed functions, PyTorch's are looked for in `aten`, whatever their own."""
    is_root = job.selection.is_root_named
    return [function for function in job.catalog.functions if is_root(f"{function.library.namespace}::{function.name}")]


def check_selected(job: Job, sink: Diagnostics) -> None:
    """Warns of selected names of operators outside of `aten`, which select no boxed functions."""
    functions = job.catalog.functions
    outside = {qualified_name(function) for function in functions if function.namespace != function.library.namespace}
    outside |= {name.partition(".")[0] for name in outside}
    for operator in job.selection.operators.values():
        if operator.name in outside:
            name = operator.name.partition("::")[2]
            message = f"`{operator.name}` selects no boxed function"
            sink.warning(BOXED_OUTSIDE, message, operator.span, help=f"select `aten::{name}` instead")


def _emitter(
    name: str, path: str, slot: str, text: Callable[[NativeFunction], str], shards: int | None = None
) -> AnyEmitter:
    # The comment is in two pieces here, so that no tool takes this file for a generated one.
    comment = "@" + f"generated by {_LAUNCHER} from {path}"
    layout = (
        OneFile(path) if shards is None else Sharded[NativeFunction](path, shards, lambda function: function.root_name)
    )
    return Emitter(
        name=name,
        family="unboxing",
        template=path,
        units=_selected_functions,
        fragment=lambda function, context: {slot: [text(function)]},
        layout=layout,
        file_slots=lambda job: {slot: [], "generated_comment": comment},
    )


def _shards(job: Job, many: int) -> int:
    return many if len(job.selection.operators) >= _MANY else 1


def emitters(job: Job) -> list[AnyEmitter]:
    """Emitters of the boxed functions and their registration."""
    functions, kernels = _shards(job, job.rules.unboxing_shards), _shards(job, job.rules.unboxed_kernels_shards)
    registrations = "RegisterCodegenUnboxedKernels.cpp"
    return [
        _emitter("unboxing_functions_header", "UnboxingFunctions.h", "declarations", declaration),
        _emitter("unboxing_functions_source", "UnboxingFunctions.cpp", "definitions", definition, functions),
        _emitter("register_unboxed_kernels_source", registrations, "unboxed_ops", registration, kernels),
    ]
