"""Families of kernels: those that share a class or a namespace, and a pattern of names."""

from __future__ import annotations

from typing import Final

from opwright.dialects.backend.cpp_text import read_identifier, read_qualified_name
from opwright.dialects.backend.kernel_names import read_pattern
from opwright.dialects.backend.nodes import read_fields
from opwright.dialects.field import TEXT, Field
from opwright.source import codes
from opwright.source.diagnostic import Diagnostics
from opwright.source.expect import check_unique_keys, expect_mapping
from opwright.source.named_tuple import NamedTuple
from opwright.source.nodes import Node, Scalar

__all__ = ["FAMILY_FIELDS", "KernelFamily", "read_convention", "read_families"]

FAMILY_FIELDS: Final = (
    Field("namespace", "text", TEXT, "The C++ namespace whose functions are the kernels."),
    Field("class", "text", TEXT, "The class whose static members are the kernels; either this or `namespace`."),
    Field("cpp_namespace", "text", TEXT, "The C++ namespace of the class; without it, that of the file."),
    Field("kernel_name", "text", TEXT, "The pattern of the kernels' names; without it, that of the file."),
    Field("convention", "text", TEXT, "The [calling convention](#calling-conventions); without it, that of the file."),
)


class KernelFamily(NamedTuple):
    """A family: its kernels are members of a class in a namespace, or functions of the namespace if it has no class.

    `convention` is the name of the kernels' calling convention, None if it is that of the file.
    """

    namespace: str = ""
    class_name: str = ""
    kernel_name: str = ""
    convention: Scalar | None = None


def read_families(node: Node, cpp_namespace: str, sink: Diagnostics) -> dict[str, KernelFamily]:
    """The families of a file by name; those with faults are as empty as the default one."""
    mapping = expect_mapping(node, "`families`", sink)
    if mapping is None:
        return {}
    check_unique_keys(mapping, sink)
    return {key.value: _read_family(key, value, cpp_namespace, sink) for key, value in mapping.entries}


def _read_family(key: Scalar, node: Node, cpp_namespace: str, sink: Diagnostics) -> KernelFamily:
    fields = read_fields(node, f"families.{key.value}", FAMILY_FIELDS, sink)
    if fields is None:
        return KernelFamily()
    if ("namespace" in fields) == ("class" in fields):
        count = "both" if "class" in fields else "neither"
        message = f"the family `{key.value}` has {count} of `namespace` and `class`"
        sink.error(codes.FAMILY, message, key.span, help="write the one that has the kernels")
    elif "namespace" in fields and "cpp_namespace" in fields:
        message = f"the family `{key.value}` has no class that `cpp_namespace` could be the namespace of"
        sink.error(codes.FAMILY, message, fields["cpp_namespace"].span, help="delete `cpp_namespace`")
    pattern = read_pattern(fields["kernel_name"], "kernel_name", sink) if "kernel_name" in fields else ""
    convention = read_convention(fields["convention"], sink) if "convention" in fields else None
    if "class" not in fields:
        namespace = read_qualified_name(fields["namespace"], "namespace", sink) if "namespace" in fields else ""
        return KernelFamily(namespace, "", pattern, convention)
    if "cpp_namespace" in fields:
        cpp_namespace = read_qualified_name(fields["cpp_namespace"], "cpp_namespace", sink)
    return KernelFamily(cpp_namespace, read_identifier(fields["class"], "class", sink), pattern, convention)


def read_convention(node: Node, sink: Diagnostics) -> Scalar | None:
    """The name of a calling convention, which a plug-in defines; None, with a diagnostic, for what is no name."""
    name = read_identifier(node, "convention", sink)
    return node if name and isinstance(node, Scalar) else None
