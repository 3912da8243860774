"""The C++ model: types as interned values, bindings, signatures, translation. A module is imported when asked for."""

from __future__ import annotations

from importlib import import_module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType

    from opwright.cpp import binding, c_types, signature, translation

__all__ = ["binding", "c_types", "signature", "translation"]

# Type checkers take a module that has this function for one that has every attribute.
if not TYPE_CHECKING:

    def __getattr__(name: str) -> ModuleType:
        if name in __all__:
            return import_module(f"{__name__}.{name}")
        raise AttributeError(f"module `{__name__}` has no attribute `{name}`")
