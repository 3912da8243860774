"""Signatures of C++ functions. One signature prints the declaration, the definition and the pointer type."""

from __future__ import annotations

from opwright.cpp.binding import Binding
from opwright.cpp.c_types import CType
from opwright.source.records import frozen_fields


@frozen_fields
class Signature:
    """A C++ function's name, return type and parameters under one convention.

    `parameters` have defaults, for declarations; `definition_parameters` do not.
    """

    name: str
    returns: CType
    bindings: tuple[Binding, ...]

    @property
    def parameters(self) -> str:
        """Parameters with their defaults."""
        return ", ".join([binding.declaration for binding in self.bindings])

    @property
    def definition_parameters(self) -> str:
        """Parameters without defaults."""
        return ", ".join([binding.definition for binding in self.bindings])

    @property
    def arguments(self) -> str:
        """Names of the parameters, for a call that passes them on."""
        return ", ".join([binding.name for binding in self.bindings])

    def declaration(self, name: str | None = None, *, first: str = "") -> str:
        """`R name(T a=d, ...)`, with another name if given, and with `first` as an additional first parameter."""
        return f"{self.returns.text} {self.name if name is None else name}({_join(first, self.parameters)})"

    def definition(self, name: str | None = None, *, first: str = "") -> str:
        """`R name(T a, ...)`, which a body follows."""
        return f"{self.returns.text} {self.name if name is None else name}({_join(first, self.definition_parameters)})"

    @property
    def parameter_types(self) -> str:
        """Types of the parameters."""
        return ", ".join([binding.type.text for binding in self.bindings])

    @property
    def type(self) -> str:
        """The function's type: `R (T, ...)`."""
        return f"{self.returns.text} ({self.parameter_types})"

    @property
    def pointer(self) -> str:
        """Type of a pointer to the function: `R (*)(T, ...)`."""
        return f"{self.returns.text} (*)({self.parameter_types})"


def _join(first: str, rest: str) -> str:
    return f"{first}, {rest}" if first and rest else first or rest
