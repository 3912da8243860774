"""The fields of a dump as tables, and the JSON Schema that is made from them.

The names of fields are stable: a new release of Opwright may add some, and changes `FORMAT` if it removes or changes
one.
"""

from __future__ import annotations

from typing import Final

from opwright.dialects.field import FLAG, TEXT, Field, JsonSchema, choice, list_of_schema, mapping_schema
from opwright.schema.function import SchemaKind

__all__ = ["FORMAT", "RECORDS", "Record", "json_schema"]


#: The version of the form of dumps.
FORMAT: Final = 1

#: The name of a record -> its fields, those that may be missing after the others.
Record = tuple[Field, ...]

_NUMBER: Final[JsonSchema] = {"type": "integer"}
_NAMES: Final = list_of_schema(TEXT)


def _record(name: str) -> JsonSchema:
    return {"$ref": f"#/$defs/{name}"}


def _field(name: str, schema: JsonSchema, help: str) -> Field:
    """A field that each record has."""
    return Field(name, "", schema, help, is_required=True)


def _optional(name: str, schema: JsonSchema, help: str) -> Field:
    """A field that records lack if it does not apply."""
    return Field(name, "", schema, help)


_DUMP: Final = (
    _field("format", {"enum": [FORMAT]}, "The version of the form of the dump."),
    _field("kind", choice("release", "library", "backend"), "What was dumped."),
    _field("torch", TEXT, "The release of PyTorch whose rules hold, such as `2.13.0`."),
    _field(
        "files", list_of_schema(_record("file")), "The input files as data; the rest of the dump follows from them."
    ),
    _field("tags", {"type": "object", "additionalProperties": TEXT}, "The tags of the release, with descriptions."),
    _field(
        "types",
        {"type": "object", "additionalProperties": _record("type")},
        "Each type of an argument or return, by its text.",
    ),
    _field("backends", list_of_schema(_record("backend")), "The backends of a dump of backend files."),
    _field("operators", list_of_schema(_record("operator")), "The operators: entries in file order, then synthesized."),
)
_FILE: Final = (
    _field("path", TEXT, "The path of the file: for a release its name among the inputs, else as the user gave it."),
    _field("dialect", TEXT, "The kind of the file, such as `native_functions`."),
    _field("content", {}, "The content of the file as data."),
)
_TYPE: Final = (
    _field("kind", choice("base", "class", "dispatcher", "optional", "list"), "What the type is."),
    _optional("of", TEXT, "Of an optional or a list: the text of its inner type."),
    _optional("size", _NUMBER, "Of a list whose length is fixed: the length."),
    _optional("class", TEXT, "Of a TorchScript class: its name."),
)
_ALIAS: Final = (
    _field("before", _NAMES, "The alias sets that the value is in before the call."),
    _field("write", FLAG, "Whether the call writes the value."),
    _field("after", _NAMES, "The alias sets that the value is in after the call, if they differ."),
)
_ARGUMENT: Final = (
    _field("name", TEXT, "The name."),
    _field("type", TEXT, "The text of the type, a key of `types`."),
    _field("kind", choice("positional", "keyword", "out"), "How the argument is passed."),
    _optional("default", TEXT, "The text of the default."),
    _optional("alias", _record("alias"), "The alias annotation."),
)
_RETURN: Final = (
    _field("type", TEXT, "The text of the type, a key of `types`."),
    _optional("name", TEXT, "The name."),
    _optional("alias", _record("alias"), "The alias annotation."),
)
_KERNEL: Final = (
    _field("key", TEXT, "The dispatch key."),
    _field("name", TEXT, "The name of the C++ function."),
    _field("namespace", TEXT, "The C++ namespace of the function; empty for the global one."),
    _field("structured", FLAG, "Whether the kernel is the `impl` of a structured kernel."),
    _field("symint", FLAG, "Whether the kernel takes symbolic integers."),
    _optional("condition", TEXT, "What the preprocessor tests: the kernel exists where it holds."),
)
_PRECOMPUTED: Final = (
    _field(
        "replace",
        {"type": "object", "additionalProperties": list_of_schema(_record("argument"))},
        "The values that replace an argument, by its name.",
    ),
    _field("add", list_of_schema(_record("argument")), "The values that follow the arguments."),
)
_LOOP: Final = (
    _field("kind", TEXT, "The kind of the loop, such as `Generic`."),
    _field("name", TEXT, "The name of the scalar function."),
    _field("dtypes", _NAMES, "The dtypes in their order."),
)
_PLACE: Final = (
    _field("file", _NUMBER, "The index of the file in `files`."),
    _field("pointer", TEXT, "The JSON Pointer of the entry in the content of the file, such as `/17`."),
    _field("line", _NUMBER, "The line of the entry in the file, from 1 on."),
)
_GROUP: Final = tuple(
    [_optional(name, TEXT, f"The {name} overload.") for name in ("functional", "inplace", "out", "mutable")]
)
_VIEW_GROUP: Final = tuple(
    [
        _optional(name, TEXT, help)
        for name, help in (("view", "The view."), ("inplace", "Its in-place form."), ("copy", "Its copying form."))
    ]
)
_OPERATOR: Final = (
    _field("name", TEXT, "The name with the overload, such as `add.Tensor`."),
    _field("namespace", TEXT, "The namespace, such as `aten`."),
    _field("schema", TEXT, "The schema, without the namespace."),
    _field("kind", choice(*[kind.name for kind in SchemaKind]), "What the operator does with its arguments."),
    _field("arguments", list_of_schema(_record("argument")), "The arguments in the order of the schema."),
    _field("returns", list_of_schema(_record("return")), "The returns."),
    _field("variants", list_of_schema(choice("function", "method")), "Whether it is a function, a method, or both."),
    _field("view", FLAG, "Whether a result shares memory with an argument."),
    _field("tags", _NAMES, "The tags, in alphabetical order."),
    _field(
        "kernels", list_of_schema(_record("kernel")), "The kernels by dispatch key, an implicit composite included."
    ),
    _field("structured", FLAG, "Whether the operator has a structured kernel."),
    _field("device_check", FLAG, "Whether wrappers check that all tensors are on one device."),
    _field("device_guard", FLAG, "Whether wrappers make the device of the tensors the current one."),
    _field("synthesized", FLAG, "Whether Opwright made the overload from another one, whose entry is `entry`."),
    _field("entry", _record("place"), "The entry of the operator."),
    _optional("derivative", _record("place"), "The entry of `derivatives.yaml` with the formulas of the operator."),
    _optional("structured_delegate", TEXT, "The out overload whose structured kernel serves this overload."),
    _optional("structured_inherits", TEXT, "The C++ base class of the shape function."),
    _optional("precomputed", _record("precomputed"), "What the shape function passes to the kernel."),
    _optional("ufunc", list_of_schema(_record("loop")), "The loops from which element-wise kernels are made."),
    _optional("autogen", _NAMES, "The overloads to make from this one."),
    _optional("python_module", TEXT, "The submodule of the Python bindings."),
    _optional("category_override", TEXT, "A mark for PyTorch's own tools."),
    _optional("cpp_no_default_args", _NAMES, "Arguments without default in C++."),
    _optional("const_ref_mutables", FLAG, "Set if kernels take written tensors as `const Tensor&`."),
    _optional("manual_cpp_binding", FLAG, "Set if the C++ function for callers is written by hand."),
    _optional("manual_kernel_registration", FLAG, "Set if kernels are registered by hand."),
    _optional("condition", TEXT, "What the preprocessor tests: the operator exists where it holds."),
    _optional("group", _record("group"), "The overloads of the same operation, by their names."),
    _optional("c_shim", _record("c_shim"), "The C shims for AOTInductor, or why there can be none."),
    _optional("view_group", _record("view_group"), "The forms of the same view, by their names."),
)
_SHIM: Final = (
    _field("versions", list_of_schema(_record("shim_version")), "The versions of the shim, the oldest first."),
    _optional("refusal", TEXT, "Which argument or return keeps the operator from having a shim."),
)
_SHIM_VERSION: Final = (
    _field("version", TEXT, "The version: `v1`, `v2` and so on."),
    _field("parameters", TEXT, "The parameters of the C function."),
    _optional("since", TEXT, "The macro of the release that first has it."),
)
_BACKEND: Final = (
    _field("name", TEXT, "The name of the backend."),
    _field("key", TEXT, "Its dispatch key."),
    _field("cpp_namespace", TEXT, "The C++ namespace of its kernels."),
    _field("class", TEXT, "The C++ class whose static members are its kernels; empty for functions of the namespace."),
    _field("kernels", list_of_schema(_record("backend_kernel")), "Its kernels."),
)
_BACKEND_KERNEL: Final = (
    _field("section", TEXT, "The section of the file, such as `supported`."),
    _field("operator", TEXT, "The operator, with its namespace: `aten::add.Tensor`."),
    _field("schema", TEXT, "The schema of the operator."),
    _field("implementation", TEXT, "How the backend implements the operator, such as `kernel`."),
    _field("kernel", _record("kernel"), "The kernel."),
    _field("declaration", TEXT, "The C++ declaration of a kernel of the operator."),
    _field("line", _NUMBER, "The line of the operator in the file, from 1 on."),
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
    """The schema: the whole document, with a definition for each kind of record."""
    definitions = {name: mapping_schema(fields) for name, fields in RECORDS.items() if name != "dump"}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"Dump of operators by Opwright, format {FORMAT}",
        **mapping_schema(RECORDS["dump"]),
        "$defs": definitions,
    }
