"""Calling conventions: from a schema to a C++ signature, one module per convention.

Each module has the same few functions where they apply: `name`, `argument_type`, `arguments` and `signature`. A module
is imported when it is first asked for.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import ModuleType

_PUBLIC = frozenset(("cpp", "dispatcher", "native", "structured"))


def __getattr__(name: str) -> ModuleType:
    if name in _PUBLIC:
        return import_module(f"{__name__}.{name}")
    raise AttributeError(f"module `{__name__}` has no attribute `{name}`")
