"""What the modules of a package share that register something for its operators when they are imported."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from textwrap import indent
from typing import Any, Generic, Protocol, TypeVar

from opwright.emit.emitter import Emitter, FilePerUnit, FragmentContext, Job
from opwright.libraries.emit.build_namespace import python_text
from opwright.libraries.emit.openings import NAMESPACE, opening
from opwright.libraries.emit.python.calls import literal
from opwright.libraries.entry_fields import library_fields
from opwright.libraries.operator_library import OperatorLibrary, RunLibraries
from opwright.model.native_function import NativeFunction
from opwright.schema.function import Argument
from opwright.source.records import NamedTuple, frozen_fields
from opwright.syntax.python import string_literal, variable_name


class _InPackage(Protocol):
    """What a module is made from."""

    @property
    def package(self) -> str: ...


_Unit = TypeVar("_Unit", bound=_InPackage)
_Row = TypeVar("_Row")


def module_emitter(
    name: str, units: Callable[[Job], Sequence[_Unit]], text_of: Callable[[_Unit, FragmentContext], str]
) -> Emitter[_Unit]:
    """Emitter of the module of that name, with an underscore before it, in each package."""
    return Emitter(
        name=f"library_{name}_modules",
        family="library",
        template=None,
        folder="python",
        units=units,
        fragment=lambda unit, context: {"text": python_text(text_of(unit, context))},
        layout=FilePerUnit(lambda unit: f"{unit.package.replace('.', '/')}/_{name}.py"),
    )


class _PackageRows(NamedTuple):
    """A package, and what a module of it registers something for."""

    package: str
    namespace: str
    rows: tuple[Any, ...]


@frozen_fields
class PackageModule(Generic[_Row]):
    """A module of packages that registers something for operators when it is imported.

    `rows` are what it registers something for, of a library, such as functions. A package without rows has no such
    module. It begins with the `openings`, of which `values` are texts and what stands in their place; `texts` of each
    row follow.
    """

    name: str
    rows: Callable[[OperatorLibrary], Sequence[_Row]]
    texts: Callable[[_Row], Iterable[str]]
    openings: tuple[str, ...]
    values: Callable[[str, Sequence[_Row]], Mapping[str, str]] = lambda namespace, rows: {}
    closing: str = ""

    def emitter(self) -> Emitter[_PackageRows]:
        """Emitter of the module."""
        return module_emitter(self.name, self._units, lambda unit, _: self._text(unit))

    def _units(self, job: Job) -> Sequence[_PackageRows]:
        return [
            _PackageRows(library.python_package, library.library.namespace, tuple(rows))
            for library in job.of(RunLibraries).libraries
            if library.owner is None and (rows := self.rows(library))
        ]

    def _text(self, unit: _PackageRows) -> str:
        values = {**self.values(unit.namespace, unit.rows), NAMESPACE: unit.namespace}
        texts = [text for row in unit.rows for text in self.texts(row)]
        return "\n\n".join([opening(*self.openings, values=values), *texts]) + self.closing


def functions_module(
    name: str,
    is_registered: Callable[[NativeFunction], object],
    texts: Callable[[NativeFunction], Iterable[str]],
    *,
    openings: tuple[str, ...] = (),
    closing: str = "",
) -> PackageModule[NativeFunction]:
    """A module with texts for some functions of a library. It begins with the opening of its name by default."""
    return PackageModule(
        name,
        lambda library: [function for function in library.catalog.functions if is_registered(function)],
        lambda function: [where_defined(function, text) for text in texts(function)],
        openings or (name,),
        closing=closing,
    )


def where_defined(function: NativeFunction, text: str) -> str:
    """Registration of something of a function, for builds that have the operator."""
    if not library_fields(function).condition:
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
