"""What plug-ins are written with. Every name here stays the same within a version of the API; see docs/plugins.md.

The public names are those of `__all__`; they are imported when first asked for.
"""

from __future__ import annotations

from importlib import import_module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

    from opwright.check.lint import BackendLint, Lint, OperatorLint
    from opwright.dialects.dialect import Dialect, LoadContext
    from opwright.emit.emitter import (
        DeclaredRead,
        Emitter,
        FilePerUnit,
        FragmentContext,
        Job,
        OneFile,
        Sharded,
        per_job,
    )
    from opwright.emit.registry import Check, Family
    from opwright.plugins.plugin import Plugin
    from opwright.source.codes import Code

__all__ = [
    "BackendLint",
    "Check",
    "Code",
    "DeclaredRead",
    "Dialect",
    "Emitter",
    "Family",
    "FilePerUnit",
    "FragmentContext",
    "Job",
    "Lint",
    "LoadContext",
    "OneFile",
    "OperatorLint",
    "Plugin",
    "Sharded",
    "per_job",
]

#: The modules of this package with the public names that each has.
_MODULES: Final = {
    "check.lint": ("BackendLint", "Lint", "OperatorLint"),
    "dialects.dialect": ("Dialect", "LoadContext"),
    "emit.emitter": (
        "DeclaredRead",
        "Emitter",
        "FilePerUnit",
        "FragmentContext",
        "Job",
        "OneFile",
        "Sharded",
        "per_job",
    ),
    "emit.registry": ("Check", "Family"),
    "plugins.plugin": ("Plugin",),
    "source.codes": ("Code",),
}

_LAZY_EXPORTS: Final = {name: f"opwright.{module}" for module, names in _MODULES.items() for name in names}


# Type checkers take a module that has this function for one that has every attribute.
if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        home = _LAZY_EXPORTS.get(name)
        if home is None:
            raise AttributeError(f"module `opwright.plugin` has no attribute `{name}`")
        return getattr(import_module(home), name)


def __dir__() -> list[str]:
    return sorted(__all__)
