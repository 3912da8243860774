"""The Python types of named results: `torch.return_types.max`.

A function has one such type per set of names; each overload with it takes the type from the same C++ function.
"""

from __future__ import annotations

from collections.abc import Iterable

from opwright.convention import public_api
from opwright.convention.python.results import field_names, struct_key
from opwright.model.native_function import NativeFunction
from opwright.source.named_tuple import NamedTuple


class Struct(NamedTuple):
    """A type of named results; `number` counts those of one Python function."""

    key: str
    name: str
    fields: tuple[str, ...]
    number: int

    @property
    def suffix(self) -> str:
        """The ending that distinguishes the C++ names of several types."""
        return str(self.number) if self.number else ""

    @property
    def variable(self) -> str:
        """The variable that holds the type in the C++ function of the binding."""
        return f"NamedTuple{self.suffix}"

    @property
    def getter(self) -> str:
        """The name of the C++ function that gives the type."""
        return f"get_{self.name}_structseq"


def structs(functions: Iterable[NativeFunction]) -> dict[str, Struct]:
    """The types of the overloads of one Python function, by their keys."""
    by_field: dict[str, Struct] = {}
    for function in functions:
        fields = field_names(function)
        if fields:
            key = struct_key(function)
            if key not in by_field:
                by_field[key] = Struct(key, public_api.name(function.schema), fields, len(by_field))
    return by_field
