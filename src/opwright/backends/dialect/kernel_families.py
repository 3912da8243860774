"""Families of kernels, which share a class or a namespace, and patterns of kernel names, such as `bang_{name}`."""

from __future__ import annotations

from typing import Final

from opwright.backends import backend_codes
from opwright.backends.dialect.sections import SectionKind
from opwright.backends.dialect.texts import read_identifier, read_part, read_qualified_name
from opwright.dialects.field import TEXT, Field
from opwright.dialects.names import IDENTIFIER, default_kernel_name
from opwright.dialects.values import read_fields
from opwright.model.dispatch_key import DispatchKey
from opwright.schema.function import FunctionSchema
from opwright.source.diagnostic import Diagnostics, did_you_mean
from opwright.source.expect import check_unique_keys, expect_mapping, expect_string
from opwright.source.lazy import lazy_pattern
from opwright.source.nodes import Node, Scalar
from opwright.source.records import NamedTuple

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
    """Families of a file by name; those with faults are as empty as the default one."""
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
        sink.error(backend_codes.FAMILY, message, key.span, help="write the one that has the kernels")
    elif "namespace" in fields and "cpp_namespace" in fields:
        message = f"the family `{key.value}` has no class that `cpp_namespace` could be the namespace of"
        sink.error(backend_codes.FAMILY, message, fields["cpp_namespace"].span, help="delete `cpp_namespace`")
    pattern = read_pattern(fields["kernel_name"], sink) if "kernel_name" in fields else ""
    convention = read_convention(fields["convention"], "convention", sink) if "convention" in fields else None
    if "class" not in fields:
        return KernelFamily(read_part(fields, "namespace", read_qualified_name, sink), "", pattern, convention)
    if "cpp_namespace" in fields:
        cpp_namespace = read_qualified_name(fields["cpp_namespace"], "cpp_namespace", sink)
    return KernelFamily(cpp_namespace, read_identifier(fields["class"], "class", sink), pattern, convention)


def read_convention(node: Node, name: str, sink: Diagnostics) -> Scalar | None:
    """Name of a calling convention, which a plug-in defines; None, with a diagnostic, for what is no name."""
    return node if read_identifier(node, name, sink) and isinstance(node, Scalar) else None


#: What a pattern may name in braces, and what it stands for.
PLACEHOLDERS: Final = {
    "name": "The C++ name of the operator, such as `add_` or `add_out`.",
    "base": "The name of the operator without what marks its form, such as `add`.",
    "overload": "The name of the overload, such as `Tensor`; it may be empty.",
    "section": "The section of the entry, such as `sparse`.",
    "key": "The dispatch key of the section, such as `SparsePrivateUse1`.",
}
_PLACEHOLDER: Final = lazy_pattern(r"\{([^{}]*)\}")
_SECTION_MARKS: Final = ("{section}", "{key}")


def read_pattern(node: Node, sink: Diagnostics) -> str:
    """Pattern of a scalar; empty, with a diagnostic, for what is none."""
    scalar = expect_string(node, "`kernel_name`", sink)
    if scalar is None:
        return ""
    for match in _PLACEHOLDER.finditer(scalar.value):
        if match[1] not in PLACEHOLDERS:
            wanted = ", ".join([f"`{{{name}}}`" for name in PLACEHOLDERS])
            help = did_you_mean(match[1], PLACEHOLDERS, f"there are {wanted}")
            at = scalar.span_of(*match.span(1)) if match[1] else scalar.span_of(*match.span())
            sink.error(backend_codes.KERNEL_PATTERN, f"`{match[1]}` is no part of a kernel name", at, help=help)
            return ""
    if IDENTIFIER.fullmatch(_PLACEHOLDER.sub("x", scalar.value)):
        return scalar.value
    message, example = f"`{scalar.value}` is not a pattern of C++ names", "write it like `{name}` or `acme_{name}`"
    sink.error(backend_codes.KERNEL_PATTERN, message, scalar.span, help=example)
    return ""


def kernel_name(pattern: str, schema: FunctionSchema, kind: SectionKind, key: DispatchKey) -> str:
    """Name of the kernel of an operator in a section.

    Kernels in sections of Opwright's have the name of the section at their end if the pattern does not tell
    sections apart.

    >>> from opwright.backends.dialect.sections import SECTIONS
    >>> from opwright.model.dispatch_key import key_named
    >>> from opwright.schema import parse_schema
    >>> schema = parse_schema("add.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)")
    >>> kernel_name("my_{name}", schema, SECTIONS["supported"], key_named("PrivateUse1"))
    'my_add_out'
    >>> kernel_name("{base}_{overload}", schema, SECTIONS["sparse"], key_named("SparsePrivateUse1"))
    'add_out_sparse'
    """
    if kind.is_own and not any(mark in pattern for mark in _SECTION_MARKS):
        pattern += "_{section}"
    values = {
        "name": default_kernel_name(schema),
        "base": schema.name.base,
        "overload": schema.name.overload,
        "section": kind.name,
        "key": key.name,
    }
    return _PLACEHOLDER.sub(lambda match: values[match[1]], pattern)
