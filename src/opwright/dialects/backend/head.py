"""The head of a backend file: what it says once for all its entries, and where its sections are."""

from __future__ import annotations

from collections.abc import Mapping as Table
from typing import Final, NamedTuple

from opwright.dialects.backend import codes
from opwright.dialects.field import FLAG, TEXT, Field, JsonSchema, list_of_schema
from opwright.source.diagnostic import Diagnostics, Fault, did_you_mean
from opwright.source.expect import check_unique_keys, expect_boolean, expect_sequence, expect_string
from opwright.source.nodes import Mapping, Node, Scalar, Sequence
from opwright.source.span import Span

__all__ = ["HEAD_FIELDS", "SECTIONS", "BackendHead", "read_head"]

_ENTRIES: Final[JsonSchema] = list_of_schema({"$ref": "#/$defs/entry"})
_NAMES: Final[JsonSchema] = list_of_schema(TEXT)

#: The fields of a file, in the order of the documentation.
HEAD_FIELDS: Final = (
    Field("backend", "text", TEXT, "The dispatch key of the backend, such as `PrivateUse1`.", is_required=True),
    Field("cpp_namespace", "text", TEXT, "The C++ namespace of the kernels.", is_required=True),
    Field("class_name", "text", TEXT, "The class with the kernels; without it, `{Key}NativeFunctions`."),
    Field("supported", "list of entries", _ENTRIES, "The operators with kernels for the backend."),
    Field("autograd", "list of entries", _ENTRIES, "The operators with kernels for the backend's Autograd key."),
    Field("symint", "list of names", _NAMES, "The operators whose kernels take symbolic integers."),
    Field("full_codegen", "list of names", _NAMES, "Operators that lazy tensors generate; here like `supported`."),
    Field("non_native", "list", {}, "Nodes of lazy tensors without an operator; without effect here."),
    Field("ir_gen", "list of names", _NAMES, "Operators whose nodes lazy tensors generate; without effect here."),
    Field("use_out_as_primary", "boolean", FLAG, "The out overload implements a group instead of the functional one."),
    Field("device_guard", "boolean", FLAG, "Wrappers check devices and make the tensors' device the current one."),
)
_FIELD_NAMES: Final = [field.name for field in HEAD_FIELDS]

#: The sections with entries, and what the dispatch key of each begins with before the name of the device.
SECTIONS: Final = {"supported": "", "full_codegen": "", "autograd": "Autograd"}


class BackendHead(NamedTuple):
    """The head of a file, and the entries of its sections as nodes. `spans` has the span of each field's value."""

    root: Mapping
    backend: str = ""
    cpp_namespace: str = ""
    class_name: str = ""
    out_is_primary: bool = False
    device_guard: bool = False
    sections: Table[str, tuple[Node, ...]] = {}
    symint: tuple[Scalar, ...] = ()
    spans: Table[str, Span] = {}

    def span(self, field: str) -> Span:
        """The span of a field's value; the whole file where it has none."""
        return self.spans.get(field, self.root.span)


def read_head(root: Node, sink: Diagnostics) -> BackendHead:
    """The head of a file. Raises Fault if the file is not a mapping."""
    if not isinstance(root, Mapping):
        raise Fault.at(codes.FILE_SHAPE, f"the file is {root.description}, not a mapping with `backend`", root.span)
    check_unique_keys(root, sink)
    fields = {key.value: value for key, value in root.entries}
    for key, _ in root.entries:
        if key.value not in _FIELD_NAMES:
            help = did_you_mean(key.value, _FIELD_NAMES)
            sink.error(codes.UNKNOWN_KEY, f"unknown key `{key.value}`", key.span, help=help)
    sections = {name: _items(fields.get(name), name, sink) for name in SECTIONS}
    symint = [item for item in _items(fields.get("symint"), "symint", sink) if isinstance(item, Scalar)]
    return BackendHead(
        root,
        _required_text(fields, "backend", root, sink),
        _required_text(fields, "cpp_namespace", root, sink),
        _text(fields, "class_name", sink),
        _flag(fields, "use_out_as_primary", sink),
        _flag(fields, "device_guard", sink),
        sections,
        tuple(symint),
        {name: value.span for name, value in fields.items()},
    )


def _items(node: Node | None, name: str, sink: Diagnostics) -> tuple[Node, ...]:
    """The entries of a section, which may be left empty."""
    if node is None or (isinstance(node, Scalar) and node.kind == "null" and name in _MAY_BE_EMPTY):
        return ()
    entries: Sequence | None = expect_sequence(node, f"`{name}`", sink)
    return () if entries is None else tuple(entries.items)


#: The sections whose key may stand without a value.
_MAY_BE_EMPTY: Final = ("supported", "symint")


def _required_text(fields: Table[str, Node], name: str, root: Mapping, sink: Diagnostics) -> str:
    node = fields.get(name)
    if node is not None and not (isinstance(node, Scalar) and node.value == ""):
        return _text(fields, name, sink)
    sink.error(codes.MISSING_KEY, f"the file has no `{name}`", root.span if node is None else node.span)
    return ""


def _text(fields: Table[str, Node], name: str, sink: Diagnostics) -> str:
    node = fields.get(name)
    scalar = None if node is None else expect_string(node, f"`{name}`", sink)
    return "" if scalar is None else scalar.value


def _flag(fields: Table[str, Node], name: str, sink: Diagnostics) -> bool:
    node = fields.get(name)
    return node is not None and bool(expect_boolean(node, f"`{name}`", sink))
