"""Names of a program that only its importers use: they are loaded when they are asked for."""

from __future__ import annotations

from importlib import import_module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["names_of"]


def names_of(module: str) -> Callable[[str], object]:
    """What looks up the names that a module of the interface has, for the `__getattr__` of a program.

    >>> names_of("generator")("cpp_string")("add")
    '"add"'
    """

    def look_up(name: str) -> object:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(import_module(f"opwright.torchgen.interface.{module}"), name)

    return look_up
