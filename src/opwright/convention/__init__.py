"""Calling conventions: from a schema to a C++ signature, one module per convention.

Each module has the same few functions where they apply: `name`, `argument_type`, `arguments` and `signature`. A module
is imported when it is first asked for.
"""

from __future__ import annotations

from importlib import import_module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType

    from opwright.convention import dispatcher, native, public_api, structured

__all__ = ["dispatcher", "native", "public_api", "structured"]

# Type checkers take a module that has this function for one that has every attribute.
if not TYPE_CHECKING:

    def __getattr__(name: str) -> ModuleType:
        if name in __all__:
            return import_module(f"{__name__}.{name}")
        raise AttributeError(f"module `{__name__}` has no attribute `{name}`")
