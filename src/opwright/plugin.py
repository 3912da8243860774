"""What plug-ins are written with. Every name here stays the same within a version of the API; see docs/plugins.md.

The public names are those of `__all__`; they are imported when first asked for.
"""

from __future__ import annotations

from importlib import import_module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

    from opwright.backends.emit.device_shims import device_shims as device_shims
    from opwright.backends.emit.headers import structured_declarations as structured_declarations
    from opwright.backends.emit.headers import structured_includes as structured_includes
    from opwright.backends.extensions import KernelCandidate as KernelCandidate
    from opwright.backends.extensions import KernelConvention as KernelConvention
    from opwright.backends.extensions import KernelSelector as KernelSelector
    from opwright.backends.extensions import Registration as Registration
    from opwright.backends.extensions import RegistrationChange as RegistrationChange
    from opwright.backends.extensions import WrapperArgument as WrapperArgument
    from opwright.backends.extensions import WrapperFacts as WrapperFacts
    from opwright.backends.extensions import WrapperHook as WrapperHook
    from opwright.backends.external_backend import BackendEntry as BackendEntry
    from opwright.backends.external_backend import ExternalBackend as ExternalBackend
    from opwright.convention.c_shim import NoCForm as NoCForm
    from opwright.convention.c_shim import operator_key as operator_key
    from opwright.convention.c_shim import shim_function as shim_function
    from opwright.cpp.binding import Binding as Binding
    from opwright.cpp.c_types import TENSOR as TENSOR
    from opwright.cpp.c_types import CType as CType
    from opwright.cpp.c_types import const_ref as const_ref
    from opwright.cpp.c_types import mut_ref as mut_ref
    from opwright.cpp.c_types import optional as optional
    from opwright.cpp.signature import Signature as Signature
    from opwright.cpp.translation import TypeConversion as TypeConversion
    from opwright.dialects.dialect import BackendReader as BackendReader
    from opwright.dialects.dialect import Dialect as Dialect
    from opwright.dialects.dialect import LoadContext as LoadContext
    from opwright.emit.aten.backend import kernel_signature as kernel_signature
    from opwright.emit.aten.c_shim import shim_callee as shim_callee
    from opwright.emit.aten.c_shim import shim_declaration as shim_declaration
    from opwright.emit.aten.c_shim import shim_definition as shim_definition
    from opwright.emit.aten.c_shim import shim_kernel_key as shim_kernel_key
    from opwright.emit.emitter import DeclaredRead as DeclaredRead
    from opwright.emit.emitter import Emitter as Emitter
    from opwright.emit.emitter import FilePerUnit as FilePerUnit
    from opwright.emit.emitter import FragmentContext as FragmentContext
    from opwright.emit.emitter import Job as Job
    from opwright.emit.emitter import OneFile as OneFile
    from opwright.emit.emitter import Sharded as Sharded
    from opwright.emit.emitter import Slots as Slots
    from opwright.emit.emitter import per_job as per_job
    from opwright.emit.family import Check as Check
    from opwright.emit.family import Family as Family
    from opwright.model.catalog import Catalog as Catalog
    from opwright.model.extra_values import ExtraValue as ExtraValue
    from opwright.model.extra_values import ExtraValues as ExtraValues
    from opwright.model.native_function import NativeFunction as NativeFunction
    from opwright.model.native_function import NativeFunctionsGroup as NativeFunctionsGroup
    from opwright.model.native_function import ViewGroup as ViewGroup
    from opwright.plugins.activation import use_plugins as use_plugins
    from opwright.plugins.built_nodes import NodeValue as NodeValue
    from opwright.plugins.built_nodes import node_at as node_at
    from opwright.plugins.built_nodes import part_of as part_of
    from opwright.plugins.built_nodes import texts_of as texts_of
    from opwright.plugins.built_nodes import with_entries as with_entries
    from opwright.plugins.built_nodes import without_entries as without_entries
    from opwright.plugins.code_pages import Code as Code
    from opwright.plugins.cpp_names import cpp_name as cpp_name
    from opwright.plugins.cpp_names import cpp_type as cpp_type
    from opwright.plugins.cpp_names import usual_signature as usual_signature
    from opwright.plugins.extra_keys import ANY_VALUE as ANY_VALUE
    from opwright.plugins.extra_keys import CPP_CODE as CPP_CODE
    from opwright.plugins.extra_keys import CPP_EXPRESSION as CPP_EXPRESSION
    from opwright.plugins.extra_keys import CPP_IDENTIFIER as CPP_IDENTIFIER
    from opwright.plugins.extra_keys import CPP_NAME as CPP_NAME
    from opwright.plugins.extra_keys import Choice as Choice
    from opwright.plugins.extra_keys import Either as Either
    from opwright.plugins.extra_keys import ExtraKey as ExtraKey
    from opwright.plugins.extra_keys import Fields as Fields
    from opwright.plugins.extra_keys import KeyType as KeyType
    from opwright.plugins.extra_keys import ListOf as ListOf
    from opwright.plugins.extra_keys import Table as Table
    from opwright.plugins.file_family import file_family as file_family
    from opwright.plugins.file_family import text_family as text_family
    from opwright.plugins.lint import BackendLint as BackendLint
    from opwright.plugins.lint import Lint as Lint
    from opwright.plugins.lint import OperatorLint as OperatorLint
    from opwright.plugins.lint import Operators as Operators
    from opwright.plugins.listed_operators import ListedOperator as ListedOperator
    from opwright.plugins.listed_operators import known_operators as known_operators
    from opwright.plugins.listed_operators import leave_out as leave_out
    from opwright.plugins.listed_operators import listed_operators as listed_operators
    from opwright.plugins.plugin import Plugin as Plugin
    from opwright.schema.function import Argument as Argument
    from opwright.schema.function import FunctionSchema as FunctionSchema
    from opwright.source.diagnostic import Diagnostics as Diagnostics
    from opwright.source.diagnostic import Edit as Edit
    from opwright.source.diagnostic import Fault as Fault
    from opwright.source.diagnostic import did_you_mean as did_you_mean
    from opwright.source.expect import expect_boolean as expect_boolean
    from opwright.source.expect import expect_integer as expect_integer
    from opwright.source.expect import expect_mapping as expect_mapping
    from opwright.source.expect import expect_sequence as expect_sequence
    from opwright.source.expect import expect_string as expect_string
    from opwright.source.expect import expect_strings as expect_strings
    from opwright.source.nodes import MappingNode as MappingNode
    from opwright.source.nodes import Node as Node
    from opwright.source.nodes import Scalar as Scalar
    from opwright.source.nodes import SequenceNode as SequenceNode
    from opwright.source.nodes import text_of as text_of
    from opwright.source.records import not_fingerprinted as not_fingerprinted
    from opwright.source.span import Span as Span
    from opwright.source.text import SourceFile as SourceFile
    from opwright.source.yaml import load_yaml as load_yaml
    from opwright.syntax.cpp_expressions import CppFault as CppFault
    from opwright.syntax.cpp_expressions import CppName as CppName
    from opwright.syntax.cpp_expressions import find_cpp_fault as find_cpp_fault
    from opwright.syntax.cpp_expressions import free_names as free_names
    from opwright.syntax.cpp_expressions import split_cpp as split_cpp
    from opwright.workspace.named_files import read_beside as read_beside

#: The modules of this package with the public names that each has.
_MODULES: Final = {
    "plugins.lint": ("BackendLint", "Lint", "OperatorLint", "Operators"),
    "convention.c_shim": ("NoCForm", "operator_key", "shim_function"),
    "plugins.cpp_names": ("cpp_name", "cpp_type", "usual_signature"),
    "cpp.binding": ("Binding",),
    "cpp.c_types": ("CType", "TENSOR", "const_ref", "mut_ref", "optional"),
    "cpp.signature": ("Signature",),
    "cpp.translation": ("TypeConversion",),
    "workspace.named_files": ("read_beside",),
    "syntax.cpp_expressions": ("CppFault", "CppName", "find_cpp_fault", "free_names", "split_cpp"),
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
    "backends.extensions": (
        "Registration",
        "KernelCandidate",
        "KernelConvention",
        "KernelSelector",
        "RegistrationChange",
        "WrapperArgument",
        "WrapperFacts",
        "WrapperHook",
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
_PUBLIC: Final = sorted(_LAZY_EXPORTS, key=lambda name: (not name.isupper(), name))
#: Names of 0.1 that collide with those of Python, and are deprecated.
_RENAMED: Final = {"Mapping": "MappingNode", "Sequence": "SequenceNode"}


# Type checkers read the imports above, and take a module that has this function for one that has every attribute.
if not TYPE_CHECKING:
    __all__ = list(_PUBLIC)

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
