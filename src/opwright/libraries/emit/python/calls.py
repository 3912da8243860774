"""Ways to call an operator from Python, their parameters, and the names that a module of functions uses itself."""

from __future__ import annotations

import builtins
import keyword
import re
from collections.abc import Collection, Iterable, Sequence
from typing import Final, TypeAlias

from opwright.convention.python.call import NoFieldName, names_of
from opwright.model.native_function import NativeFunction
from opwright.schema.defaults import DefaultItem, NamedConstant
from opwright.schema.function import Argument, Return
from opwright.schema.types import Type
from opwright.source.records import NamedTuple
from opwright.syntax.python import string_literal

#: Names that are imported one by one; all other types are attributes of `torch`.
_SOURCES: Final = {
    "Any": "typing",
    "deprecated": "typing_extensions",
    "warn": "warnings",
    "NamedTuple": "typing",
    "overload": "typing",
    "TYPE_CHECKING": "typing",
    "TypeAlias": "typing",
    "Sequence": "collections.abc",
    "Tensor": "torch",
}

#: The numbers that a `Scalar` may be.
_NUMBERS: Final = ("int", "float", "complex", "SymInt", "SymFloat", "SymBool")

#: Types that the annotations of stubs call by a name of their own: `_Storage`.
_UNIONS: Final = {"Storage": ("TypedStorage", "UntypedStorage")}

_ALIAS: Final = re.compile(r"\b_(\w+)")
#: The annotation of a symbolic integer.
_INTEGERS: Final = "_int | _SymInt"


def free_name(name: str, taken: Collection[str]) -> str:
    """Name, with an underscore before it for as long as it is taken.

    >>> free_name("int", {"int"})
    '_int'
    """
    while name in taken:
        name = f"_{name}"
    return name


class ModuleNames:
    """Names that a module uses, and the imports and definitions that they need.

    A name that is `taken`, because a function of the module or an argument has it, gets an underscore: otherwise the
    function `int` would hide the type.
    """

    def __init__(self, taken: Collection[str]) -> None:
        self._taken: Final = taken
        self._imports: Final[dict[str, dict[str, str]]] = {}
        self._numbers = ""
        self._integers = ""

    def of(self, name: str) -> str:
        """How the module writes the name of a type or of a function that it calls, which is imported."""
        if name == "Number":
            self._numbers = free_name("Number", self._taken)
            return self._numbers
        if name == "IntLike":
            self._integers = free_name("IntLike", self._taken)
            return self._integers
        if name in _UNIONS:
            return " | ".join(map(self.of, _UNIONS[name]))
        if name in _SOURCES:
            return self._import(_SOURCES[name], name)
        if hasattr(builtins, name):
            return self._import("builtins", name) if name in self._taken else name
        return f"{self.torch}.{name}"

    @property
    def torch(self) -> str:
        """How the module writes `torch`."""
        return self._import("", "torch")

    def annotation(self, aliases: str) -> str:
        """An annotation of `convention.stub_types`, with the names of this module.

        >>> ModuleNames({"int"}).annotation("_int | _Sequence[_dtype]")
        '_int | Sequence[torch.dtype]'
        """
        return _ALIAS.sub(lambda alias: self.of(alias[1]), aliases.replace(_INTEGERS, "_IntLike"))

    def opening(self) -> list[str]:
        """Lines that import and define the names that were asked for."""
        lines = []
        if self._numbers:
            numbers = " | ".join(map(self.of, _NUMBERS))
            lines = ["", f"{self._numbers}: {self.of('TypeAlias')} = {numbers}"]
        if self._integers:
            union = _ALIAS.sub(lambda alias: self.of(alias[1]), _INTEGERS)
            # TorchScript reads annotations, has one type for both, and fails at unions of equal types.
            lines += ["", f"if {self.of('TYPE_CHECKING')}:"]
            lines += [f"    {self._integers}: {self.of('TypeAlias')} = {union}"]
            lines += ["else:", f"    {self._integers} = {self.of('int')}"]
        return [*self._import_lines(), *lines]

    def _import(self, module: str, name: str) -> str:
        return self._imports.setdefault(module, {}).setdefault(name, free_name(name, self._taken))

    def _import_lines(self) -> list[str]:
        """Import statements: those of the standard library first."""
        standard: list[str] = []
        others: list[str] = []
        for module, names in sorted(self._imports.items()):
            items = [name if shown == name else f"{name} as {shown}" for name, shown in sorted(names.items())]
            listed = ", ".join(items)
            statement = f"from {module} import {listed}" if module else f"import {listed}"
            (standard if module and module != "torch" else others).append(statement)
        return [*standard, *([""] if standard and others else []), *others]


_CallKey: TypeAlias = tuple[tuple[Argument, ...], tuple[Type, ...]]


class OperatorCall(NamedTuple):
    """A way to call an operator: an overload, an out overload with the same arguments, or both."""

    plain: NativeFunction | None
    out: NativeFunction | None

    @property
    def overload(self) -> NativeFunction:
        """Overload whose arguments and results the call has."""
        overload = self.plain or self.out
        assert overload is not None
        return overload

    @property
    def overloads(self) -> list[NativeFunction]:
        """Overloads that it may call."""
        return [overload for overload in self if overload is not None]


def calls_of(overloads: Sequence[NativeFunction]) -> list[OperatorCall]:
    """Ways to call an operator, in the order of its overloads. An out overload joins the one that it belongs to."""
    calls = [OperatorCall(overload, None) for overload in overloads if not overload.arguments.out]
    without_out: dict[_CallKey, list[int]] = {}
    for index in reversed(range(len(calls))):
        without_out.setdefault(_call_key(calls[index].overload), []).append(index)
    for overload in overloads:
        if overload.arguments.out:
            owners = without_out.get(_call_key(overload))
            if owners:
                owner = owners.pop()
                calls[owner] = calls[owner]._replace(out=overload)
            else:
                calls.append(OperatorCall(None, overload))
    return calls


def _call_key(overload: NativeFunction) -> _CallKey:
    """The arguments and results that an overload shares with the out overload that belongs to it."""
    return overload.arguments.non_out, _types(overload.schema.returns)


def _types(returns: Iterable[Return]) -> tuple[Type, ...]:
    return tuple([result.type for result in returns])


#: What a field of a named tuple cannot be called.
_NO_FIELDS: Final = frozenset((*keyword.kwlist, *dir(tuple)))


def field_names(calls: Sequence[OperatorCall]) -> tuple[str, ...]:
    """Names of an operator's results, if all ways to call it give the same ones; otherwise nothing."""
    results = {(_types(call.overload.schema.returns), _fields(call.overload)) for call in calls}
    names = results.pop()[1] if len(results) == 1 else ()
    fit = len(set(names)) == len(names) and not any(name in _NO_FIELDS or name.startswith("_") for name in names)
    return names if fit else ()


def _fields(function: NativeFunction) -> tuple[str, ...]:
    try:
        return names_of(function.schema.returns)
    except NoFieldName:
        return ()


def out_names(calls: Sequence[OperatorCall]) -> tuple[str, ...]:
    """Names of the outputs that `out=` stands for; nothing where out overloads differ in them."""
    names = {tuple([output.name for output in call.out.arguments.out]) for call in calls if call.out is not None}
    return names.pop() if len(names) == 1 else ()


def literal(argument: Argument, torch: str) -> str:
    """The Python expression of an argument's default; `torch` is the name of that module.

    >>> from opwright.schema import parse_schema
    >>> schema = parse_schema("f(int[2] a=1, float b=inf, ScalarType c=long, Device d=cpu, str e='a\\\\n') -> ()")
    >>> [literal(argument, "torch") for argument in schema.arguments.all]
    ['(1, 1)', 'torch.inf', 'torch.long', '"cpu"', '"a\\\\n"']
    """
    value = argument.default_value
    if isinstance(value, tuple):
        items = [_item_literal(item, argument.type, torch) for item in value]
        return f"({', '.join(items)}{',' if len(items) == 1 else ''})"
    return _item_literal(value, argument.type, torch)


def _item_literal(value: DefaultItem, type: Type, torch: str) -> str:
    if isinstance(value, NamedConstant):
        name = value.name.rpartition("::")[2]
        is_text = type.innermost.text in ("Device", "str", "Dimname")
        return string_literal(name) if is_text else f"{torch}.{name}"
    text = string_literal(value) if isinstance(value, str) else repr(value)
    if isinstance(value, float) and text.lstrip("-") in ("inf", "nan"):
        return f"{'-' if text[0] == '-' else ''}{torch}.{text.lstrip('-')}"
    return text
