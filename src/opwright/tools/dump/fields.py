"""Fields of a dump as tables, and the JSON Schema that is made from them.

The names of fields are stable: a new release of Opwright may add some, and changes `FORMAT` if it removes or changes
one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from opwright.dialects.field import (
    FLAG,
    TEXT,
    Field,
    JsonSchema,
    choice,
    dialect_schema,
    list_of_schema,
    mapping_schema,
)
from opwright.dialects.native_functions.fields import ROWS
from opwright.schema.function import SchemaKind

#: The version of the form of dumps.
FORMAT: Final = 1

#: The name of a record -> its fields, those that may be missing after the others.
Record = tuple[Field, ...]

_NUMBER: Final[JsonSchema] = {"type": "integer"}
_NAMES: Final = list_of_schema(TEXT)


def reference(name: str) -> JsonSchema:
    """Schema of a record of this name."""
    return {"$ref": f"#/$defs/{name}"}


def field(name: str, schema: JsonSchema, help: str) -> Field:
    """A field that each record has."""
    return Field(name, "", schema, help, is_required=True)


def optional(name: str, schema: JsonSchema, help: str) -> Field:
    """A field that records lack if it does not apply."""
    return Field(name, "", schema, help)


#: The fields of documents with the types and with the operators.
TYPES: Final = field(
    "types",
    {"type": "object", "additionalProperties": reference("type")},
    "Each type of an argument or return, by its text.",
)
OPERATORS: Final = field(
    "operators", list_of_schema(reference("operator")), "The operators: entries in file order, then synthesized."
)
_DUMP: Final = (
    field("format", {"enum": [FORMAT]}, "The version of the form of the dump."),
    field("kind", choice("release", "library", "backend"), "What was dumped."),
    field("torch", TEXT, "The release of PyTorch whose rules hold, such as `2.13.0`."),
    field(
        "files", list_of_schema(reference("file")), "The input files as data; the rest of the dump follows from them."
    ),
    field("tags", {"type": "object", "additionalProperties": TEXT}, "The tags of the release, with descriptions."),
    TYPES,
    field("backends", list_of_schema(reference("backend")), "The backends of a dump of backend files."),
    OPERATORS,
)
_FILE: Final = (
    field("path", TEXT, "The path of the file: for a release its name among the inputs, else as the user gave it."),
    field("dialect", TEXT, "The kind of the file, such as `native_functions`."),
    field("content", {}, "The content of the file as data."),
)
_TYPE: Final = (
    field("kind", choice("base", "class", "dispatcher", "optional", "list"), "What the type is."),
    optional("of", TEXT, "Of an optional or a list: the text of its inner type."),
    optional("size", _NUMBER, "Of a list whose length is fixed: the length."),
    optional("class", TEXT, "Of a TorchScript class: its name."),
)
_ALIAS: Final = (
    field("before", _NAMES, "The alias sets that the value is in before the call."),
    field("write", FLAG, "Whether the call writes the value."),
    field("after", _NAMES, "The alias sets that the value is in after the call, if they differ."),
)
_ARGUMENT: Final = (
    field("name", TEXT, "The name."),
    field("type", TEXT, "The text of the type, a key of `types`."),
    field("kind", choice("positional", "keyword", "out"), "How the argument is passed."),
    optional("default", TEXT, "The text of the default."),
    optional("alias", reference("alias"), "The alias annotation."),
)
_RETURN: Final = (
    field("type", TEXT, "The text of the type, a key of `types`."),
    optional("name", TEXT, "The name."),
    optional("alias", reference("alias"), "The alias annotation."),
)
_KERNEL: Final = (
    field("key", TEXT, "The dispatch key."),
    field("name", TEXT, "The name of the C++ function."),
    field("namespace", TEXT, "The C++ namespace of the function; empty for the global one."),
    field("structured", FLAG, "Whether the kernel is the `impl` of a structured kernel."),
    field("symint", FLAG, "Whether the kernel takes symbolic integers."),
    optional("condition", TEXT, "What the preprocessor tests: the kernel exists where it holds."),
)
_PRECOMPUTED: Final = (
    field(
        "replace",
        {"type": "object", "additionalProperties": list_of_schema(reference("argument"))},
        "The values that replace an argument, by its name.",
    ),
    field("add", list_of_schema(reference("argument")), "The values that follow the arguments."),
)
_LOOP: Final = (
    field("kind", TEXT, "The kind of the loop, such as `Generic`."),
    field("name", TEXT, "The name of the scalar function."),
    field("dtypes", _NAMES, "The dtypes in their order."),
)
_PLACE: Final = (
    field("file", _NUMBER, "The index of the file in `files`."),
    field("pointer", TEXT, "The JSON Pointer of the entry in the content of the file, such as `/17`."),
    field("line", _NUMBER, "The line of the entry in the file, from 1 on."),
)
_GROUP: Final = tuple(
    [optional(name, TEXT, f"The {name} overload.") for name in ("functional", "inplace", "out", "mutable")]
)
_VIEW_GROUP: Final = tuple(
    [
        optional(name, TEXT, help)
        for name, help in (("view", "The view."), ("inplace", "Its in-place form."), ("copy", "Its copying form."))
    ]
)
#: The fields of entries that most operators lack. The other fields of entries are below.
RARE_ROWS: Final = tuple(
    [row for row in ROWS if row.attribute not in ("", "structured", "tags", "device_check", "device_guard")]
)
#: The forms of those that are not as in the entry.
_FORMS: Final[dict[str, JsonSchema]] = {
    "autogen": _NAMES,
    "precomputed": reference("precomputed"),
    "ufunc": list_of_schema(reference("loop")),
}
_OPERATOR: Final = (
    field("name", TEXT, "The name with the overload, such as `add.Tensor`."),
    field("namespace", TEXT, "The namespace, such as `aten`."),
    field("schema", TEXT, "The schema, without the namespace."),
    field("kind", choice(*[kind.name for kind in SchemaKind]), "What the operator does with its arguments."),
    field("arguments", list_of_schema(reference("argument")), "The arguments in the order of the schema."),
    field("returns", list_of_schema(reference("return")), "The returns."),
    field("variants", list_of_schema(choice("function", "method")), "Whether it is a function, a method, or both."),
    field("view", FLAG, "Whether a result shares memory with an argument."),
    field("tags", _NAMES, "The tags, in alphabetical order."),
    field(
        "kernels", list_of_schema(reference("kernel")), "The kernels by dispatch key, an implicit composite included."
    ),
    field("structured", FLAG, "Whether the operator has a structured kernel."),
    field("device_check", FLAG, "Whether wrappers check that all tensors are on one device."),
    field("device_guard", FLAG, "Whether wrappers make the device of the tensors the current one."),
    field("synthesized", FLAG, "Whether Opwright made the overload from another one, whose entry is `entry`."),
    field("entry", reference("place"), "The entry of the operator."),
    optional("derivative", reference("place"), "The entry of `derivatives.yaml` with the formulas of the operator."),
    *[optional(row.attribute, _FORMS.get(row.attribute, row.field.schema), row.field.help) for row in RARE_ROWS],
    optional("condition", TEXT, "What the preprocessor tests: the operator exists where it holds."),
    optional(
        "sharding_rule",
        TEXT,
        "How parts of tensors are computed, as text of Shardy's `op_sharding_rule` with names of sizes for numbers.",
    ),
    optional("group", reference("group"), "The overloads of the same operation, by their names."),
    optional("c_shim", reference("c_shim"), "The C shims for AOTInductor, or why there can be none."),
    optional("view_group", reference("view_group"), "The forms of the same view, by their names."),
)
_SHIM: Final = (
    field("versions", list_of_schema(reference("shim_version")), "The versions of the shim, the oldest first."),
    optional("refusal", TEXT, "Which argument or return keeps the operator from having a shim."),
)
_SHIM_VERSION: Final = (
    field("version", TEXT, "The version: `v1`, `v2` and so on."),
    field("parameters", TEXT, "The parameters of the C function."),
    optional("since", TEXT, "The macro of the release that first has it."),
)
_BACKEND: Final = (
    field("name", TEXT, "The name of the backend."),
    field("key", TEXT, "Its dispatch key."),
    field("cpp_namespace", TEXT, "The C++ namespace of its kernels."),
    field("class", TEXT, "The C++ class whose static members are its kernels; empty for functions of the namespace."),
    field("kernels", list_of_schema(reference("backend_kernel")), "Its kernels."),
)
_BACKEND_KERNEL: Final = (
    field("section", TEXT, "The section of the file, such as `supported`."),
    field("operator", TEXT, "The operator, with its namespace: `aten::add.Tensor`."),
    field("schema", TEXT, "The schema of the operator."),
    field("implementation", TEXT, "How the backend implements the operator, such as `kernel`."),
    field("kernel", reference("kernel"), "The kernel."),
    field("declaration", TEXT, "The C++ declaration of a kernel of the operator."),
    field("line", _NUMBER, "The line of the operator in the file, from 1 on."),
)

#: The name of a record -> its fields.
RECORDS: Final[dict[str, Record]] = {
    "dump": _DUMP,
    "file": _FILE,
    "type": _TYPE,
    "alias": _ALIAS,
    "argument": _ARGUMENT,
    "return": _RETURN,
    "kernel": _KERNEL,
    "precomputed": _PRECOMPUTED,
    "loop": _LOOP,
    "place": _PLACE,
    "group": _GROUP,
    "view_group": _VIEW_GROUP,
    "operator": _OPERATOR,
    "c_shim": _SHIM,
    "shim_version": _SHIM_VERSION,
    "backend": _BACKEND,
    "backend_kernel": _BACKEND_KERNEL,
}


def json_schema() -> dict[str, object]:
    """Schema: the whole document, with a definition for each kind of record."""
    return document_schema(f"Dump of operators by Opwright, format {FORMAT}", RECORDS)


def document_schema(title: str, records: Mapping[str, Record]) -> dict[str, object]:
    """Schema of a document: the record `dump`, with definitions of the others."""
    definitions = {name: mapping_schema(fields) for name, fields in records.items() if name != "dump"}
    return dialect_schema(title, mapping_schema(records["dump"]), **definitions)
