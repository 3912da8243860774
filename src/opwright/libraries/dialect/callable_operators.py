"""Operators that formulas in Python can call, and the choice among the overloads of one."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import Final, Generic, Protocol, TypeVar

from opwright.libraries.operator_names import LATER_OVERLOADS, WHOLE_OVERLOAD
from opwright.release.tables import operators
from opwright.release.version import RELEASES, parse_version
from opwright.schema.function import Argument, FunctionSchema
from opwright.schema.parser import parse_schema
from opwright.source.diagnostic import Fault
from opwright.source.records import NamedTuple, frozen_fields

#: The types of values in formulas besides those of the schema language: nothing, and the options of a tensor.
NONE: Final = "None"
OPTIONS: Final = "options"

_SIZED: Final = re.compile(r"\[\d+\]")
_NUMBERS: Final = ("bool", "int", "float", "complex")
_OF_OPTIONS: Final = ("dtype", "layout", "device", "pin_memory")


class TypedValue(Protocol):
    """An expression of some language and its type."""

    @property
    def text(self) -> str:
        """Expression."""

    @property
    def type(self) -> str:
        """A plain type of the schema language, or a tuple `(Tensor, Tensor)`."""


Given = TypeVar("Given", bound=TypedValue)


class PythonValue(NamedTuple):
    """An expression of Python and its type: a plain type of the schema language, or a tuple `(Tensor, Tensor)`."""

    text: str
    type: str

    @property
    def is_tensor(self) -> bool:
        """Whether it is a tensor, maybe an undefined one, which Python has as None."""
        return self.type in ("Tensor", "Tensor?")


@frozen_fields
class GivenArgument(Generic[Given]):
    """A value that a call gives for a parameter. With `is_item` it stands for the list with it."""

    parameter: Argument
    value: Given
    is_item: bool


@frozen_fields
class ChosenOverload(Generic[Given]):
    """An overload that fits a call, and the arguments of the call. Options stand at their first parameter."""

    schema: FunctionSchema
    given: Sequence[GivenArgument[Given]]

    @property
    def arguments(self) -> tuple[str, ...]:
        """Texts of the arguments in Python."""
        keywords = {parameter.name for parameter in self.schema.arguments.all[len(self.schema.arguments.positional) :]}
        texts = []
        for argument in self.given:
            text = f"[{argument.value.text}]" if argument.is_item else argument.value.text
            is_named = argument.parameter.name in keywords and argument.value.type != OPTIONS
            texts.append(f"{argument.parameter.name}={text}" if is_named else text)
        return tuple(texts)

    @property
    def result(self) -> str:
        """Type of the result."""
        types = [plain_type(result.type.text) for result in self.schema.returns]
        return types[0] if len(types) == 1 else f"({', '.join(types)})"


@cache
def plain_type(text: str) -> str:
    """A type as formulas see it: symbolic integers are integers, and lists have no length.

    >>> plain_type("SymInt[2]?"), plain_type("Tensor?[]")
    ('int[]?', 'Tensor?[]')
    """
    return _SIZED.sub("[]", text).replace("SymInt", "int").replace("SymBool", "bool")


class CallableOperators:
    """PyTorch's operators and those of libraries, by C++ namespace and name.

    `oldest` is the first release in which they are called.
    """

    def __init__(
        self, pytorch: str, libraries: Mapping[str, Iterable[FunctionSchema]], oldest: tuple[int, int]
    ) -> None:
        self._pytorch: Final = pytorch
        self.oldest: Final = oldest
        self._operators: Final[dict[tuple[str, str], list[FunctionSchema]]] = {}
        for namespace, schemas in libraries.items():
            for schema in schemas:
                for name in dict.fromkeys((schema.name.name, schema.name.unambiguous)):
                    self._operators.setdefault((namespace, name), []).append(schema)
        self._found: Final[dict[str, tuple[FunctionSchema, ...]]] = {}

    def named(self, namespace: str, name: str) -> tuple[FunctionSchema, ...]:
        """Functional overloads of an operator; empty if there is none."""
        plain = name.removesuffix("_symint")
        schemas = self._operators.get((namespace, plain))
        if schemas is not None:
            return tuple(schemas)
        return self._of_pytorch(plain) if namespace == "aten" else ()

    def missing_until(self, choice: ChosenOverload[Given]) -> tuple[int, int] | None:
        """Release that brought what a call of PyTorch's operator needs; None if the oldest one has it.

        That is the operator, the overload, or an argument.
        """
        schema = choice.schema
        names = {schema.name.name, schema.name.base}
        if not names & operators(None):
            return None
        versions = [release.version for release in RELEASES if release.version[:2] >= self.oldest]
        first = next((version[:2] for version in versions if names & operators(version)), None)
        passed = {argument.parameter.name for argument in choice.given} | {WHOLE_OVERLOAD}
        later = [
            parse_version(row.since)[:2]
            for row in LATER_OVERLOADS.rows
            if row.since is not None and schema.name.text in row.names and not passed.isdisjoint(row.value.split())
        ]
        newest = max([release for release in (first, *later) if release is not None], default=None)
        return None if newest is None or newest <= self.oldest else newest

    def _of_pytorch(self, name: str) -> tuple[FunctionSchema, ...]:
        """Overloads of PyTorch, found in the text: loading all entries takes longer than the rest of the run."""
        if name not in self._found:
            entry = re.compile(rf"^- func: (?:aten::)?({re.escape(name)}[.(].*)$", re.MULTILINE)
            schemas = []
            for text in entry.findall(self._pytorch):
                try:
                    schemas.append(parse_schema(text.strip()))
                except Fault:
                    continue
            self._found[name] = tuple([schema for schema in schemas if not schema.arguments.out])
        return self._found[name]


def choose(
    overloads: Iterable[FunctionSchema],
    values: Sequence[Given],
    *,
    is_method: bool,
    cost: Callable[[str, str], int | None] | None = None,
) -> ChosenOverload[Given] | None:
    """Overload that fits values best, in the order in which C++ functions take them; None if none does.

    `cost` tells how far the conversion of a type to another goes, or None if there is none.
    """
    best: tuple[int, ChosenOverload[Given]] | None = None
    for schema in overloads:
        fit = _fit(schema, _in_order(schema, values) if is_method else list(values), cost or conversion_cost)
        if fit is not None and (best is None or fit[0] < best[0]):
            best = fit
    return None if best is None else best[1]


def _in_order(schema: FunctionSchema, values: Sequence[Given]) -> list[Given]:
    """Values of a call of a method, whose object is the argument `self`."""
    names = [argument.name for argument in schema.arguments.all]
    place = names.index("self") if "self" in names else 0
    return [*values[1 : place + 1], values[0], *values[place + 1 :]]


def _fit(
    schema: FunctionSchema, values: list[Given], cost: Callable[[str, str], int | None]
) -> tuple[int, ChosenOverload[Given]] | None:
    """How badly values fit a schema, with the call; None if they do not."""
    total, index = 0, 0
    given: list[GivenArgument[Given]] = []
    parameters = list(schema.arguments.all)
    for value in values:
        if index >= len(parameters):
            return None
        parameter = parameters[index]
        if value.type == OPTIONS and parameter.name == _OF_OPTIONS[0]:
            given.append(GivenArgument(parameter, value, is_item=False))
            index += len(_OF_OPTIONS)
            continue
        fit = _argument(value, parameter, cost)
        if fit is None:
            return None
        total += fit[0]
        given.append(fit[1])
        index += 1
    if any(parameter.default is None for parameter in parameters[index:]):
        return None
    return total, ChosenOverload(schema, given)


def _argument(
    value: Given, parameter: Argument, cost: Callable[[str, str], int | None]
) -> tuple[int, GivenArgument[Given]] | None:
    """How badly a value fits a parameter, with the argument that is passed."""
    wanted = plain_type(parameter.type.text)
    argument_cost = cost(value.type, wanted)
    if argument_cost is not None:
        return argument_cost, GivenArgument(parameter, value, is_item=False)
    item = wanted.removesuffix("?").removesuffix("[]")
    if item != wanted and parameter.type.list_like is not None and cost(value.type, item) is not None:
        return 3, GivenArgument(parameter, value, is_item=True)
    return None


def conversion_cost(given: str, wanted: str) -> int | None:
    """How far a conversion goes that C++ makes too; None if it makes none."""
    if given == wanted:
        return 0
    if given == "Tensor?" and wanted == "Tensor":
        return 0
    if wanted.endswith("?"):
        inner = conversion_cost(given, wanted[:-1])
        return 0 if given == NONE else None if inner is None else inner + 1
    if wanted.endswith("[]") and given.endswith("[]"):
        return 1 if given == "[]" else conversion_cost(given[:-2], wanted[:-2])
    if given in _NUMBERS and wanted == "Scalar":
        return 1
    if given == "Scalar" and wanted == "float":
        return 2
    if given in _NUMBERS and wanted in _NUMBERS and _NUMBERS.index(given) < _NUMBERS.index(wanted):
        return 1
    return None
