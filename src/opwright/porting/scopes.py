"""The variables and the parameters of templates at a place of a C++ source."""

from __future__ import annotations

from typing import Final

from opwright.porting.values import Value

__all__ = ["Scopes"]


class Scopes:
    """The scopes around a place, the innermost one last."""

    def __init__(self) -> None:
        self._variables: Final[list[dict[str, Value]]] = [{}]
        self._numbers: Final[list[set[str]]] = [set()]
        self._constant: Final[list[bool]] = [False]

    def push(self, *, is_constant: bool = False) -> None:
        """Open a scope; one that `is_constant` sees the variables around it as constants."""
        self._variables.append({})
        self._numbers.append(set())
        self._constant.append(is_constant)

    def pop(self) -> None:
        """Close the innermost scope."""
        self._variables.pop()
        self._numbers.pop()
        self._constant.pop()

    def add(self, name: str, value: Value) -> None:
        """Declare a variable."""
        self._variables[-1][name] = value

    def add_number(self, name: str) -> None:
        """Declare a parameter of a template, which is the type of a number in kernels."""
        self._numbers[-1].add(name)

    def find(self, name: str) -> Value | None:
        """The variable that a name means; None if there is none."""
        is_constant = False
        for variables, seals in zip(reversed(self._variables), reversed(self._constant), strict=True):
            if name in variables:
                return variables[name]._replace(is_variable=variables[name].is_variable and not is_constant)
            is_constant |= seals
        return None

    def numbers(self) -> set[str]:
        """The parameters of templates."""
        return set().union(*self._numbers)

    def is_number(self, name: str) -> bool:
        """Whether a name is a parameter of a template."""
        return any(name in names for names in self._numbers)
