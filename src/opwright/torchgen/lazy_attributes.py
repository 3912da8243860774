"""Attributes of a module that only its importers use: each is imported when it is asked for."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module


def lazy_attributes(module: str) -> Callable[[str], object]:
    """A `__getattr__` for a module, which has the names that a module of the interface has.

    >>> lazy_attributes("generator")("cpp_string")("add")
    '"add"'
    """

    def look_up(name: str) -> object:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(import_module(f"opwright.torchgen.interface.{module}"), name)

    return look_up
