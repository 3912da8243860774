"""What the modules of a package share that register something for its operators when they are imported."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Sequence
from textwrap import indent
from typing import Protocol, TypeVar

from opwright.emit.emitter import Emitter, FilePerUnit, FragmentContext, Job, Slots
from opwright.libraries.emit.build_namespace import python_text
from opwright.libraries.emit.openings import NAMESPACE, opening
from opwright.libraries.emit.python.calls import literal
from opwright.libraries.operator_library import OperatorLibrary, RunLibraries
from opwright.model.native_function import NativeFunction
from opwright.schema.function import Argument
from opwright.source.records import NamedTuple
from opwright.syntax.python import string_literal, variable_name


class _InPackage(Protocol):
    """What a module is made from."""

    @property
    def package(self) -> str: ...


_Unit = TypeVar("_Unit", bound=_InPackage)


def module_emitter(
    name: str, units: Callable[[Job], Sequence[_Unit]], fragment: Callable[[_Unit, FragmentContext], Slots]
) -> Emitter[_Unit]:
    """Emitter of the module of that name, with an underscore before it, in each package."""

    def with_build_namespace(unit: _Unit, context: FragmentContext) -> Slots:
        return {slot: python_text(str(text)) for slot, text in fragment(unit, context).items()}

    return Emitter(
        name=f"library_{name}_modules",
        family="library",
        template=None,
        folder="python",
        units=units,
        fragment=with_build_namespace,
        layout=FilePerUnit(lambda unit: f"{unit.package.replace('.', '/')}/_{name}.py"),
    )


class _PackageFunctions(NamedTuple):
    """Functions of a package for which a module registers something."""

    package: str
    namespace: str
    functions: tuple[NativeFunction, ...]


def functions_emitter(
    name: str,
    functions: Callable[[OperatorLibrary], tuple[NativeFunction, ...]],
    texts: Callable[[NativeFunction], Iterable[str]],
    *,
    openings: tuple[str, ...] = (),
    closing: str = "",
) -> Emitter[_PackageFunctions]:
    """Emitter of a module with texts for some functions, in the package of each library that has such functions.

    It begins with the openings, by default with that of its name.
    """

    def units(job: Job) -> Sequence[_PackageFunctions]:
        return [
            _PackageFunctions(library.python_package, library.library.namespace, unit_lines)
            for library in job.of(RunLibraries).libraries
            if library.owner is None and (unit_lines := functions(library))
        ]

    def module(unit: _PackageFunctions, context: FragmentContext) -> Slots:
        unit_lines = [where_defined(function, text) for function in unit.functions for text in texts(function)]
        opened = opening(*(openings or (name,)), values={NAMESPACE: unit.namespace})
        return {"text": "\n\n".join([opened, *unit_lines]) + closing}

    return module_emitter(name, units, module)


def where_defined(function: NativeFunction, text: str) -> str:
    """Registration of something of a function, for builds that have the operator."""
    if not function.library_fields.condition:
        return text
    operators = f"getattr(_torch.ops.{function.namespace}, {function.name.name!r}, None)"
    return f"if hasattr({operators}, {function.name.overload or 'default'!r}):\n\n{indent(text, '    ')}"


def operator_expression(function: NativeFunction) -> str:
    """Expression of an overload: `_torch.ops.acme.scale.default`."""
    overload = function.name.overload or "default"
    return f"getattr(_torch.ops.{function.namespace}.{function.name.name}, {string_literal(overload)})"


def parameters_of(function: NativeFunction) -> tuple[str, list[str]]:
    """Parameters of a Python kernel, and the statements that read those whose variables have other names.

    PyTorch leaves out arguments that have their default value.
    """
    positional = function.arguments.positional
    keyword_only = [argument for argument in function.arguments.all if argument not in positional]
    renamed = [argument for argument in keyword_only if _variable(argument) != argument.name]
    parameters = list(map(_parameter, positional))
    parameters += ["*"] if len(keyword_only) > len(renamed) else []
    parameters += [_parameter(argument) for argument in keyword_only if argument not in renamed]
    parameters += ["**_others"] if renamed else []
    lines = [
        f'    {_variable(argument)} = _others.get("{argument.name}", {_default(argument)})\n' for argument in renamed
    ]
    return ", ".join(parameters), lines


def passed_arguments(
    function: NativeFunction, value_of: Callable[[Argument], str] | None = None, only: Container[str] | None = None
) -> list[str]:
    """Arguments of a call that passes the parameters on; `value_of` says what it passes instead of a variable.

    `only` names those that it passes, None stands for all.
    """
    positional = function.arguments.positional
    value_of = value_of or _variable
    return [
        value_of(argument) if argument in positional else f"{argument.name}={value_of(argument)}"
        for argument in function.arguments.all
        if only is None or argument.name in only
    ]


def tensor_variables(function: NativeFunction) -> list[str]:
    """Variables with tensors and lists of tensors."""
    return [_variable(argument) for argument in function.arguments.all if argument.type.is_tensor_like]


def _variable(argument: Argument) -> str:
    return variable_name(argument.name)


def _parameter(argument: Argument) -> str:
    return _variable(argument) if argument.default is None else f"{_variable(argument)}={_default(argument)}"


def _default(argument: Argument) -> str:
    return "None" if argument.default is None else literal(argument, "_torch")
