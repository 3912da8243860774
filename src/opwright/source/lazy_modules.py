"""Packages whose public modules are imported when they are first asked for."""

from __future__ import annotations

from collections.abc import Callable, Collection
from importlib import import_module
from types import ModuleType


def import_when_asked(package: str, modules: Collection[str]) -> Callable[[str], ModuleType]:
    """The `__getattr__` of a package with these public modules.

    >>> import_when_asked("opwright.source", ["span"])("span").__name__
    'opwright.source.span'
    """

    def look_up(name: str) -> ModuleType:
        if name in modules:
            return import_module(f"{package}.{name}")
        raise AttributeError(f"module `{package}` has no attribute `{name}`")

    return look_up
