"""Patterns of kernel names, such as `bang_{name}`."""

from __future__ import annotations

from typing import Final

from opwright.dialects.backend.sections import SectionKind
from opwright.dialects.names import IDENTIFIER, default_kernel_name
from opwright.model.dispatch_key import DispatchKey
from opwright.schema.function import FunctionSchema
from opwright.source import codes
from opwright.source.diagnostic import Diagnostics, did_you_mean
from opwright.source.expect import expect_string
from opwright.source.nodes import Node
from opwright.source.patterns import lazy_pattern

__all__ = ["PLACEHOLDERS", "kernel_name", "read_pattern"]

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


def read_pattern(node: Node, what: str, sink: Diagnostics) -> str:
    """The pattern of a scalar; empty, with a diagnostic, for what is none."""
    scalar = expect_string(node, f"`{what}`", sink)
    if scalar is None:
        return ""
    for match in _PLACEHOLDER.finditer(scalar.value):
        if match[1] not in PLACEHOLDERS:
            wanted = ", ".join([f"`{{{name}}}`" for name in PLACEHOLDERS])
            help = did_you_mean(match[1], PLACEHOLDERS, f"there are {wanted}")
            at = scalar.span_of(*match.span(1)) if match[1] else scalar.span_of(*match.span())
            sink.error(codes.KERNEL_PATTERN, f"`{match[1]}` is no part of a kernel name", at, help=help)
            return ""
    if IDENTIFIER.fullmatch(_PLACEHOLDER.sub("x", scalar.value)):
        return scalar.value
    message, example = f"`{scalar.value}` is not a pattern of C++ names", "write it like `{name}` or `acme_{name}`"
    sink.error(codes.KERNEL_PATTERN, message, scalar.span, help=example)
    return ""


def kernel_name(pattern: str, schema: FunctionSchema, kind: SectionKind, key: DispatchKey) -> str:
    """The name of the kernel of an operator in a section.

    Kernels in sections of Opwright's own have the name of the section at their end if the pattern does not tell
    sections apart.

    >>> from opwright.dialects.backend.sections import SECTIONS
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
