"""The names that a module of functions uses, none of which may be the name of a function in it."""

from __future__ import annotations

import builtins
import re
from collections.abc import Collection
from typing import Final

__all__ = ["ModuleNames", "free_name"]

#: Names that are imported one by one; all other types are attributes of `torch`.
_SOURCES: Final = {
    "Any": "typing",
    "NamedTuple": "typing",
    "overload": "typing",
    "TypeAlias": "typing",
    "Sequence": "collections.abc",
    "Tensor": "torch",
}

#: The numbers that a `Scalar` may be.
_NUMBERS: Final = ("int", "float", "complex", "SymInt", "SymFloat", "SymBool")

#: Types that the annotations of stubs call by a name of their own: `_Storage`.
_UNIONS: Final = {"Storage": ("TypedStorage", "UntypedStorage")}

_ALIAS: Final = re.compile(r"\b_(\w+)")


def free_name(name: str, taken: Collection[str]) -> str:
    """The name, with an underscore before it for as long as it is taken.

    >>> free_name("int", {"int"})
    '_int'
    """
    while name in taken:
        name = f"_{name}"
    return name


class ModuleNames:
    """The names that a module uses, and the imports and definitions that they need.

    A name that is `taken`, because a function of the module or an argument has it, gets an underscore: otherwise the
    function `int` would hide the type.
    """

    def __init__(self, taken: Collection[str]) -> None:
        self._taken: Final = taken
        self._imports: Final[dict[str, dict[str, str]]] = {}
        self._numbers = ""

    def of(self, name: str) -> str:
        """How the module writes the name of a type or of a function that it calls, which is imported."""
        if name == "Number":
            self._numbers = free_name("Number", self._taken)
            return self._numbers
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
        return _ALIAS.sub(lambda alias: self.of(alias[1]), aliases)

    def opening(self) -> list[str]:
        """The lines that import and define the names that were asked for."""
        lines = []
        if self._numbers:
            numbers = " | ".join(map(self.of, _NUMBERS))
            lines = ["", f"{self._numbers}: {self.of('TypeAlias')} = {numbers}"]
        return [*self._import_lines(), *lines]

    def _import(self, module: str, name: str) -> str:
        return self._imports.setdefault(module, {}).setdefault(name, free_name(name, self._taken))

    def _import_lines(self) -> list[str]:
        """The import statements: those of the standard library first."""
        standard: list[str] = []
        others: list[str] = []
        for module, names in sorted(self._imports.items()):
            listed = ", ".join([_with_alias(name, shown) for name, shown in sorted(names.items())])
            statement = f"from {module} import {listed}" if module else f"import {listed}"
            (standard if module and module != "torch" else others).append(statement)
        return [*standard, *([""] if standard and others else []), *others]


def _with_alias(name: str, shown: str) -> str:
    return name if shown == name else f"{name} as {shown}"
