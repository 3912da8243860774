"""What plug-ins are written with. Every name here stays the same within a version of the API; see docs/plugins.md.

The public names are those of `__all__`; they are imported when first asked for.
"""

from __future__ import annotations

from importlib import import_module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

    from opwright.backends.emit.device_shims import device_shims
    from opwright.backends.emit.headers import structured_declarations, structured_includes
    from opwright.backends.external_backend import BackendEntry, ExternalBackend
    from opwright.convention.c_shim import NoCForm, operator_key, shim_function
    from opwright.convention.public_api import cpp_name
    from opwright.cpp.binding import Binding
    from opwright.cpp.c_types import TENSOR, CType, const_ref, mut_ref, optional
    from opwright.cpp.signature import Signature
    from opwright.cpp.translation import TypeConversion
    from opwright.dialects.cpp_expressions import CppFault, CppName, find_cpp_fault, free_names, split_cpp
    from opwright.dialects.dialect import BackendReader, Dialect, LoadContext
    from opwright.emit.aten.backend import kernel_signature
    from opwright.emit.aten.c_shim import shim_callee, shim_declaration, shim_definition, shim_kernel_key
    from opwright.emit.emitter import (
        DeclaredRead,
        Emitter,
        FilePerUnit,
        FragmentContext,
        Job,
        OneFile,
        Sharded,
        Slots,
        per_job,
    )
    from opwright.emit.extensions import (
        KernelCandidate,
        KernelConvention,
        KernelSelector,
        RegistrationChange,
        WrapperArgument,
        WrapperFacts,
        WrapperHook,
        cpp_type,
        usual_signature,
    )
    from opwright.emit.family import Check, Family
    from opwright.emit.registrations import Registration
    from opwright.model.catalog import Catalog
    from opwright.model.extra_values import ExtraValue, ExtraValues
    from opwright.model.native_function import NativeFunction, NativeFunctionsGroup, ViewGroup
    from opwright.plugins.activation import use_plugins
    from opwright.plugins.built_nodes import NodeValue, node_at, part_of, texts_of, with_entries, without_entries
    from opwright.plugins.code_pages import Code
    from opwright.plugins.extra_keys import (
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
    from opwright.plugins.file_family import file_family, text_family
    from opwright.plugins.lint import BackendLint, Lint, OperatorLint, Operators
    from opwright.plugins.listed_operators import ListedOperator, known_operators, leave_out, listed_operators
    from opwright.plugins.plugin import Plugin
    from opwright.schema.function import Argument, FunctionSchema
    from opwright.source.diagnostic import Diagnostics, Edit, Fault, did_you_mean
    from opwright.source.expect import (
        expect_boolean,
        expect_integer,
        expect_mapping,
        expect_sequence,
        expect_string,
        expect_strings,
    )
    from opwright.source.nodes import MappingNode, Node, Scalar, SequenceNode, text_of
    from opwright.source.records import not_fingerprinted
    from opwright.source.span import Span
    from opwright.source.text import SourceFile
    from opwright.source.yaml import load_yaml
    from opwright.workspace.named_files import read_beside

__all__ = [
    "ANY_VALUE",
    "CPP_CODE",
    "CPP_EXPRESSION",
    "CPP_IDENTIFIER",
    "CPP_NAME",
    "TENSOR",
    "Argument",
    "BackendEntry",
    "BackendLint",
    "BackendReader",
    "Binding",
    "CType",
    "Catalog",
    "Check",
    "Choice",
    "Code",
    "CppFault",
    "CppName",
    "DeclaredRead",
    "Diagnostics",
    "Dialect",
    "Edit",
    "Either",
    "Emitter",
    "ExternalBackend",
    "ExtraKey",
    "ExtraValue",
    "ExtraValues",
    "Family",
    "Fault",
    "Fields",
    "FilePerUnit",
    "FragmentContext",
    "FunctionSchema",
    "Job",
    "KernelCandidate",
    "KernelConvention",
    "KernelSelector",
    "KeyType",
    "Lint",
    "ListOf",
    "ListedOperator",
    "LoadContext",
    "MappingNode",
    "NativeFunction",
    "NativeFunctionsGroup",
    "NoCForm",
    "Node",
    "NodeValue",
    "OneFile",
    "OperatorLint",
    "Operators",
    "Plugin",
    "Registration",
    "RegistrationChange",
    "Scalar",
    "SequenceNode",
    "Sharded",
    "Signature",
    "Slots",
    "SourceFile",
    "Span",
    "Table",
    "TypeConversion",
    "ViewGroup",
    "WrapperArgument",
    "WrapperFacts",
    "WrapperHook",
    "const_ref",
    "cpp_name",
    "cpp_type",
    "device_shims",
    "did_you_mean",
    "expect_boolean",
    "expect_integer",
    "expect_mapping",
    "expect_sequence",
    "expect_string",
    "expect_strings",
    "file_family",
    "find_cpp_fault",
    "free_names",
    "kernel_signature",
    "known_operators",
    "leave_out",
    "listed_operators",
    "load_yaml",
    "mut_ref",
    "node_at",
    "not_fingerprinted",
    "operator_key",
    "optional",
    "part_of",
    "per_job",
    "read_beside",
    "shim_callee",
    "shim_declaration",
    "shim_definition",
    "shim_function",
    "shim_kernel_key",
    "split_cpp",
    "structured_declarations",
    "structured_includes",
    "text_family",
    "text_of",
    "texts_of",
    "use_plugins",
    "usual_signature",
    "with_entries",
    "without_entries",
]

#: The modules of this package with the public names that each has.
_MODULES: Final = {
    "plugins.lint": ("BackendLint", "Lint", "OperatorLint", "Operators"),
    "convention.c_shim": ("NoCForm", "operator_key", "shim_function"),
    "convention.public_api": ("cpp_name",),
    "cpp.binding": ("Binding",),
    "cpp.c_types": ("CType", "TENSOR", "const_ref", "mut_ref", "optional"),
    "cpp.signature": ("Signature",),
    "cpp.translation": ("TypeConversion",),
    "workspace.named_files": ("read_beside",),
    "dialects.cpp_expressions": ("CppFault", "CppName", "find_cpp_fault", "free_names", "split_cpp"),
    "dialects.dialect": ("BackendReader", "Dialect", "LoadContext"),
    "plugins.extra_keys": (
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
    "plugins.listed_operators": ("ListedOperator", "known_operators", "leave_out", "listed_operators"),
    "emit.aten.backend": ("kernel_signature",),
    "backends.emit.device_shims": ("device_shims",),
    "emit.aten.c_shim": ("shim_callee", "shim_declaration", "shim_definition", "shim_kernel_key"),
    "backends.emit.headers": ("structured_declarations", "structured_includes"),
    "emit.extensions": (
        "KernelCandidate",
        "KernelConvention",
        "KernelSelector",
        "RegistrationChange",
        "WrapperArgument",
        "WrapperFacts",
        "WrapperHook",
        "cpp_type",
        "usual_signature",
    ),
    "emit.emitter": (
        "DeclaredRead",
        "Emitter",
        "FilePerUnit",
        "FragmentContext",
        "Job",
        "OneFile",
        "Sharded",
        "Slots",
        "per_job",
    ),
    "plugins.file_family": ("file_family", "text_family"),
    "emit.registrations": ("Registration",),
    "emit.family": ("Check", "Family"),
    "model.catalog": ("Catalog",),
    "backends.external_backend": ("BackendEntry", "ExternalBackend"),
    "model.extra_values": ("ExtraValue", "ExtraValues"),
    "model.native_function": ("NativeFunction", "NativeFunctionsGroup", "ViewGroup"),
    "plugins.activation": ("use_plugins",),
    "plugins.plugin": ("Plugin",),
    "schema.function": ("Argument", "FunctionSchema"),
    "plugins.built_nodes": ("NodeValue", "node_at", "part_of", "texts_of", "with_entries", "without_entries"),
    "plugins.code_pages": ("Code",),
    "source.diagnostic": ("Diagnostics", "Edit", "Fault", "did_you_mean"),
    "source.expect": (
        "expect_boolean",
        "expect_integer",
        "expect_mapping",
        "expect_sequence",
        "expect_string",
        "expect_strings",
    ),
    "source.nodes": ("MappingNode", "Node", "Scalar", "SequenceNode", "text_of"),
    "source.records": ("not_fingerprinted",),
    "source.span": ("Span",),
    "source.text": ("SourceFile",),
    "source.yaml": ("load_yaml",),
}

_LAZY_EXPORTS: Final = {name: f"opwright.{module}" for module, names in _MODULES.items() for name in names}
#: Names of 0.1 that collide with those of Python, and are deprecated.
_RENAMED: Final = {"Mapping": "MappingNode", "Sequence": "SequenceNode"}


# Type checkers take a module that has this function for one that has every attribute.
if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        if name in _RENAMED:
            import warnings

            message = f"`opwright.plugin.{name}` is now `{_RENAMED[name]}`"
            warnings.warn(message, DeprecationWarning, stacklevel=2)
            name = _RENAMED[name]
        home = _LAZY_EXPORTS.get(name)
        if home is None:
            raise AttributeError(f"module `opwright.plugin` has no attribute `{name}`")
        return getattr(import_module(home), name)


def __dir__() -> list[str]:
    return sorted(__all__)
