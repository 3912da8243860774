"""What plug-ins are written with. Every name here stays the same within a version of the API; see docs/plugins.md.

The public names are those of `__all__`; they are imported when first asked for.
"""

from __future__ import annotations

from importlib import import_module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

    from opwright.check.lint import BackendLint, Lint, OperatorLint
    from opwright.dialects.backend.reader import read_beside
    from opwright.dialects.cpp_expressions import CppFault, CppName, find_cpp_fault, free_names, split_cpp
    from opwright.dialects.dialect import BackendReader, Dialect, LoadContext
    from opwright.dialects.extra_keys import (
        ANY_VALUE,
        CPP_CODE,
        CPP_EXPRESSION,
        CPP_IDENTIFIER,
        CPP_NAME,
        Choice,
        Either,
        ExtraKey,
        Fields,
        KeyType,
        ListOf,
        Table,
    )
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
    from opwright.model.extra_values import ExtraValue, ExtraValues
    from opwright.model.native_function import NativeFunction
    from opwright.plugins.plugin import Plugin
    from opwright.source.codes import Code
    from opwright.source.node_builders import NodeValue, node_at, part_of, with_entries, without_entries
    from opwright.source.nodes import Mapping, Node, Scalar, Sequence

__all__ = [
    "ANY_VALUE",
    "CPP_CODE",
    "CPP_EXPRESSION",
    "CPP_IDENTIFIER",
    "CPP_NAME",
    "BackendLint",
    "BackendReader",
    "Check",
    "Choice",
    "Code",
    "CppFault",
    "CppName",
    "DeclaredRead",
    "Dialect",
    "Either",
    "Emitter",
    "ExtraKey",
    "ExtraValue",
    "ExtraValues",
    "Family",
    "Fields",
    "FilePerUnit",
    "FragmentContext",
    "Job",
    "KeyType",
    "Lint",
    "ListOf",
    "LoadContext",
    "Mapping",
    "NativeFunction",
    "Node",
    "NodeValue",
    "OneFile",
    "OperatorLint",
    "Plugin",
    "Scalar",
    "Sequence",
    "Sharded",
    "Table",
    "find_cpp_fault",
    "free_names",
    "node_at",
    "part_of",
    "per_job",
    "read_beside",
    "split_cpp",
    "with_entries",
    "without_entries",
]

#: The modules of this package with the public names that each has.
_MODULES: Final = {
    "check.lint": ("BackendLint", "Lint", "OperatorLint"),
    "dialects.backend.reader": ("read_beside",),
    "dialects.cpp_expressions": ("CppFault", "CppName", "find_cpp_fault", "free_names", "split_cpp"),
    "dialects.dialect": ("BackendReader", "Dialect", "LoadContext"),
    "dialects.extra_keys": (
        "ANY_VALUE",
        "CPP_CODE",
        "CPP_EXPRESSION",
        "CPP_IDENTIFIER",
        "CPP_NAME",
        "Choice",
        "Either",
        "ExtraKey",
        "Fields",
        "KeyType",
        "ListOf",
        "Table",
    ),
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
    "model.extra_values": ("ExtraValue", "ExtraValues"),
    "model.native_function": ("NativeFunction",),
    "plugins.plugin": ("Plugin",),
    "source.codes": ("Code",),
    "source.node_builders": ("NodeValue", "node_at", "part_of", "with_entries", "without_entries"),
    "source.nodes": ("Mapping", "Node", "Scalar", "Sequence"),
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
