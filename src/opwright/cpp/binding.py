"""Named C++ values: parameters, values that a call wants, and expressions that are in scope."""

from __future__ import annotations

from typing import Final

from opwright.cpp.c_types import CType
from opwright.schema.function import Argument, TensorOptions
from opwright.source.records import NamedTuple

#: The role of a memory format that the tensor options may contain too; no argument has this name.
POSSIBLY_REDUNDANT_MEMORY_FORMAT: Final = "possibly_redundant_memory_format"


class WantedBinding(NamedTuple):
    """A value that a call wants: its role (usually the argument's name) and its C++ type."""

    role: str
    type: CType


class Binding:
    """A C++ parameter: its `name` in the text, its `role`, type and default.

    `argument` is the schema's argument (or group of tensor options) of the parameter, or None. Conventions make each
    binding once per argument, so hashing and comparing tuples of bindings is quick.
    """

    __slots__ = ("argument", "declaration", "default", "definition", "is_self", "name", "role", "type", "wanted")

    def __init__(
        self,
        name: str,
        role: str,
        type: CType,
        argument: Argument | TensorOptions | None,
        default: str | None = None,
    ) -> None:
        self.name: Final = name
        self.role: Final = role
        self.type: Final = type
        self.argument: Final = argument
        self.default: Final = default
        self.wanted: Final = WantedBinding(role, type)
        self.definition: Final = f"{type.text} {name}"
        self.declaration: Final = self.definition if default is None else f"{self.definition}={default}"
        self.is_self: Final = name == "self"

    def __repr__(self) -> str:
        return f"<binding {self.declaration}>"


class Expression(NamedTuple):
    """A C++ expression in scope, with its role and type."""

    text: str
    role: str
    type: CType


def with_valid_defaults(bindings: tuple[Binding, ...]) -> tuple[Binding, ...]:
    """Bindings whose defaults C++ takes in a declaration.

    C++ allows a default only where all later parameters have one, and no new value for a reference to what is written.
    PyTorch's generator does not look at that, so this is for libraries alone.
    """
    required = max(
        [
            number
            for number, binding in enumerate(bindings, 1)
            if binding.default is None or binding.type.kind == "mut_ref"
        ],
        default=0,
    )
    without = [Binding(given.name, given.role, given.type, given.argument) for given in bindings[:required]]
    return (*without, *bindings[required:])
