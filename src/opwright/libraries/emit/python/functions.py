"""Functions of a module: one for each operator, which chooses among its overloads."""

from __future__ import annotations

import keyword
from collections.abc import Collection, Sequence
from itertools import zip_longest
from textwrap import dedent
from typing import Final

from opwright.libraries.declared_outputs import OutputOperation
from opwright.libraries.emit.python.calls import (
    ModuleNames,
    OperatorCall,
    calls_of,
    field_names,
    free_name,
    literal,
    out_names,
)
from opwright.libraries.emit.python.output_text import described_output
from opwright.libraries.entry_fields import library_fields, outputs_of, requirements_of
from opwright.libraries.requirements import Requirements
from opwright.libraries.stubs.types import argument_type, return_type
from opwright.model.native_function import NativeFunction
from opwright.schema.function import Argument, SchemaKind
from opwright.source.records import NamedTuple
from opwright.syntax.python import docstring_text, string_literal


def docstring(calls: Sequence[OperatorCall]) -> list[str]:
    """Lines of the docstring of a function: the texts of its entries, each once, then what it takes and gives."""
    overloads = [overload for call in calls for overload in call.overloads]
    texts = dict.fromkeys([text for overload in overloads if (text := dedent(library_fields(overload).doc).strip())])
    paragraphs = list(texts) or [_default_text(overloads[0])]
    told = dict.fromkeys([library_fields(overload).deprecated for overload in overloads])
    paragraphs += [f"Deprecated: {text}." for text in told if text]
    schemas = "\n".join([f"{overload.namespace}::{overload.schema}" for overload in overloads])
    sections = [
        f"{title}:\n{_indent(lines)}"
        for title, lines in (("Args", _described_arguments(overloads)), ("Returns", _described_results(overloads)))
        if lines
    ]
    text = "\n\n".join([*paragraphs, *sections, f"Operators::\n\n{_indent(schemas)}"])
    return [*_indent(f'"""{docstring_text(text)}').splitlines(), '    """']


def _described_arguments(overloads: Sequence[NativeFunction]) -> str:
    """A line for each argument, with the type, the sizes and the default that it has in the first overload with it."""
    arguments: dict[str, str] = {}
    for overload in overloads:
        dims = dict((requirements_of(overload) or Requirements()).dims)
        told = _described_values(overload)
        for argument in overload.arguments.all:
            sizes = f" `[{dims[argument.name].text}]`" if argument.name in dims else ""
            default = f", {argument.default} by default" if argument.default is not None else ""
            written = ", is written" if argument.is_write else ""
            values = f", {', '.join(told[argument.name])}" if argument.name in told else ""
            arguments.setdefault(argument.name, f"{argument.name}: {argument.type}{sizes}{default}{written}{values}")
    return "\n".join(arguments.values())


def _described_values(overload: NativeFunction) -> dict[str, list[str]]:
    """What is said of the values of each argument of which something is: words and conditions."""
    described: dict[str, list[str]] = {}
    requirements = requirements_of(overload) or Requirements()
    for value in requirements.values:
        text = value.written if value.condition is None else f"`{value.written}`"
        described.setdefault(value.name, []).append(text)
    for check in requirements.checks:
        if check.condition.operation is OutputOperation.text_in:
            choices = ", ".join([repr(choice) for choice in check.condition.text.split("\n")])
            for name in check.arguments():
                described.setdefault(name, []).append(f"one of {choices}")
    return described


def _described_results(overloads: Sequence[NativeFunction]) -> str:
    """A line for each result, from the outputs that the first functional overload declares."""
    declaring = [
        described for described in overloads if outputs_of(described) and described.kind is SchemaKind.functional
    ][:1]
    lines = []
    for overload in declaring:
        results = (requirements_of(overload) or Requirements()).results
        for output, dims in zip_longest(outputs_of(overload), results):
            described = described_output(output, "" if dims is None else f"[{dims.text}]")
            lines.append(f"{f'{output.name}: ' if output.name else ''}{described}")
    return "\n".join(lines)


def _indent(text: str) -> str:
    return "\n".join([f"    {line}" if line else "" for line in text.splitlines()])


def _default_text(overload: NativeFunction) -> str:
    """What is said of an operator whose entries say nothing."""
    name = overload.name
    if name.inplace and not name.dunder:
        return f"In-place form of `{name.base}`."
    return f"The operator `{overload.namespace}::{name.name}`."


class FunctionNames(NamedTuple):
    """Names that functions use besides their own: those of types, and of the variable with the operators."""

    module: ModuleNames
    namespace: str
    is_scripting: str


class OperatorFunction(NamedTuple):
    """An operator as a function: its name, the ways to call it, and what they have in common.

    `result` is the name of the class of its results, and `fields` are its fields; empty where results are one value or
    a plain tuple. `outs` are the names of the outputs that `out=` stands for.
    """

    name: str
    operator: str
    calls: tuple[OperatorCall, ...]
    result: str
    fields: tuple[str, ...]
    outs: tuple[str, ...]


def function_name(operator: str, operators: Collection[str]) -> str:
    """Name of an operator's function, which no other one of the operators has.

    >>> function_name("scale_", ["scale_"]), function_name("del", ["del", "del_"])
    ('scale_', 'del__')
    """
    if not keyword.iskeyword(operator):
        return operator
    name = f"{operator}_"
    while name in operators:
        name += "_"
    return name


def operator_function(
    name: str, operator: str, overloads: Sequence[NativeFunction], taken: Collection[str]
) -> OperatorFunction:
    """Function of an operator, whose class of results has none of the names that are taken."""
    calls = calls_of(overloads)
    fields = field_names(calls)
    words = "".join([word.capitalize() for word in operator.split("_")])
    result = free_name(f"{words}Result", taken) if fields else ""
    return OperatorFunction(name, operator, tuple(calls), result, fields, out_names(calls))


def function_text(function: OperatorFunction, names: FunctionNames) -> str:
    """Class of the results, if they have names, and the function."""
    lines = _result_class(function, names) if function.result else []
    calls = function.calls
    if len(calls) == 1:
        lines += [*_decorators(calls[0], names), f"def {function.name}{_signature(calls[0], function, names)}:"]
        lines += [*docstring(calls), *_direct_body(calls[0], function, names)]
        return "\n".join(lines)
    for call in sorted(calls, key=lambda call: call.plain is None):
        lines += [f"@{names.module.of('overload')}", *_decorators(call, names)]
        lines += [f"def {function.name}{_signature(call, function, names)}: ...", "", ""]
    any_type = names.module.of("Any")
    lines += [f"def {function.name}(*args: {any_type}, **kwargs: {any_type}) -> {any_type}:"]
    return "\n".join([*lines, *docstring(calls), *_choosing_body(function, names)])


def _decorators(call: OperatorCall, names: FunctionNames) -> list[str]:
    """What tells type checkers that a way to call an operator is deprecated. Programs are told by `_warning`."""
    text = library_fields(call.overload).deprecated
    return [f"@{names.module.of('deprecated')}({string_literal(text)}, category=None)"] if text else []


def _warning(function: OperatorFunction, names: FunctionNames) -> list[str]:
    """Statements that warn once for each place that calls an operator of which all overloads are deprecated.

    Traces leave them out, and TorchScript does not come to them.
    """
    texts = [library_fields(call.overload).deprecated for call in function.calls]
    if not all(texts):
        return []
    namespace = function.calls[0].overload.namespace
    warned = string_literal(f"`{namespace}::{function.operator}` is deprecated: {texts[0]}")
    category = names.module.of("FutureWarning")
    return [
        f"    if not {names.module.torch}.compiler.is_compiling():",
        f"        {names.module.of('warn')}({warned}, {category}, stacklevel=2)",
    ]


def _result_class(function: OperatorFunction, names: FunctionNames) -> list[str]:
    """Class of the results of an operator."""
    returns = function.calls[0].overload.schema.returns
    fields = [
        f"    {name}: {names.module.annotation(return_type((result,)))}"
        for name, result in zip(function.fields, returns, strict=True)
    ]
    opening = [f"class {function.result}({names.module.of('NamedTuple')}):"]
    return [*opening, f'    """The results of `{function.operator}`."""', "", *fields, "", ""]


def _signature(call: OperatorCall, function: OperatorFunction, names: FunctionNames) -> str:
    """The parameters and the result of a way to call an operator: `(self: Tensor, *, scale: float = 1.0) -> Tensor`."""
    arguments = call.overload.arguments
    shown = [_parameter(argument, names.module) for argument in arguments.positional]
    rest = [_parameter(argument, names.module) for argument in arguments.keyword_only]
    if call.out is not None:
        rest += _out_parameters(call, function, names)
    if rest:
        shown += ["*", *rest]
    result = function.result or names.module.annotation(return_type(call.overload.schema.returns))
    line = f"({', '.join(shown)}) -> {result}"
    if len(line) < 100:
        return line
    listed = "\n".join([f"    {parameter}," for parameter in shown])
    return f"(\n{listed}\n) -> {result}"


def _parameter(argument: Argument, names: ModuleNames) -> str:
    annotation = names.annotation(argument_type(argument.type))
    if argument.default is None:
        return f"{argument.name}: {annotation}"
    value = literal(argument, names.torch)
    nullable = " | None" if value == "None" and not annotation.endswith("| None") else ""
    return f"{argument.name}: {annotation}{nullable} = {value}"


def _out_parameters(call: OperatorCall, function: OperatorFunction, names: FunctionNames) -> list[str]:
    """Parameters for outputs: `out`, which is optional if the operator may be called without."""
    assert call.out is not None
    outs = call.out.arguments.out
    optional = "" if call.plain is None else " | None = None"
    if not function.outs:
        return [f"{_parameter(out, names.module)}{optional}" for out in outs]
    types = [names.module.annotation(argument_type(out.type)) for out in outs]
    annotation = types[0] if len(types) == 1 else f"tuple[{', '.join(types)}]"
    return [f"out: {annotation}{optional}"]


def _direct_body(call: OperatorCall, function: OperatorFunction, names: FunctionNames) -> list[str]:
    """Statements of a function with one way to be called: it calls the overload itself."""
    warning = _warning(function, names)
    if call.out is None or call.plain is None:
        scripted = []
        if is_scriptable(call.overload):
            packet = _attribute(names.namespace, function.operator, names)
            passed = ", ".join(_passed(call.overload))
            scripted = [f"    if {names.is_scripting}():", f"        return {packet}({passed})"]
        return [*scripted, *warning, f"    return {_overload_call(call.overload, function, names)}"]
    condition = "out is not None" if function.outs else f"{call.out.arguments.out[0].name} is not None"
    return [
        *warning,
        f"    if {condition}:",
        f"        return {_overload_call(call.out, function, names)}",
        f"    return {_overload_call(call.plain, function, names)}",
    ]


def _passed(overload: NativeFunction) -> list[str]:
    """Arguments of a call that passes the parameters on, without outputs."""
    arguments = overload.arguments
    passed = [argument.name for argument in arguments.positional]
    return passed + [f"{argument.name}={argument.name}" for argument in arguments.keyword_only]


#: The types of schemas whose annotations mean the same to `torch.jit.script`, also if they are optional.
_SCRIPTABLE: Final = frozenset(("Tensor", "int", "SymInt", "float", "bool", "str"))


def is_scriptable(overload: NativeFunction) -> bool:
    """Whether `torch.jit.script` takes a function that calls an overload and has its parameters.

    It knows no sequences, and no parameters by name with defaults. Named tuples are left out.
    """
    returns = overload.schema.returns
    types = [argument.type for argument in overload.arguments.all] + [result.type for result in returns]
    return (
        all(type.text.removesuffix("?") in _SCRIPTABLE for type in types)
        and all(argument.default is None for argument in overload.arguments.keyword_only)
        and not overload.arguments.out
        and (len(returns) == 1 or all(result.name is None for result in returns))
    )


def _overload_call(overload: NativeFunction, function: OperatorFunction, names: FunctionNames) -> str:
    """Call of an overload with the parameters of the function."""
    arguments = overload.arguments
    passed = _passed(overload)
    for index, out in enumerate(arguments.out):
        value = f"out[{index}]" if len(function.outs) > 1 else "out"
        passed.append(f"{out.name}={value if function.outs else out.name}")
    packet = _attribute(names.namespace, function.operator, names)
    called = f"{_attribute(packet, overload.name.overload or 'default', names)}({', '.join(passed)})"
    return f"{function.result}(*{called})" if function.result else called


def _attribute(owner: str, name: str, names: FunctionNames) -> str:
    """Expression of an attribute, whose name may be a keyword or begin with a digit."""
    if name.isidentifier() and not keyword.iskeyword(name):
        return f"{owner}.{name}"
    return f"{names.module.of('getattr')}({owner}, {string_literal(name)})"


#: What a call of a function with several overloads gives the names of their outputs.
_PASS_OUT: Final = """\
    out = kwargs.pop("out", None)
    if out is not None:
        {names} = {value}"""


def _choosing_body(function: OperatorFunction, names: FunctionNames) -> list[str]:
    """Statements of a function with several ways to be called: the dispatcher chooses by the arguments."""
    lines = _warning(function, names)
    if function.outs:
        stored = ", ".join([f'kwargs["{name}"]' for name in function.outs])
        lines.append(_PASS_OUT.format(names=stored, value="out"))
    called = f"{_attribute(names.namespace, function.operator, names)}(*args, **kwargs)"
    return [*lines, f"    return {function.result}(*{called})" if function.result else f"    return {called}"]
