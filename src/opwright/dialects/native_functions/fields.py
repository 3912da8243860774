"""The fields of entries of `native_functions.yaml`, for documentation, and the JSON Schema of the file."""

from __future__ import annotations

from typing import Final

from opwright.dialects.field import FLAG, TEXT, TEXTS, Field, choice, dialect_schema, list_of_schema, mapping_schema
from opwright.model.native_function import DeviceCheck

_TEXT_BY_NAME: Final = {"type": "object", "additionalProperties": TEXT}

TAGS_FIELD: Final = Field("tags", "text or list of texts", TEXTS, "Tags from PyTorch's `tags.yaml`.")

ENTRY_FIELDS: Final = (
    Field("func", "schema", TEXT, "The schema of the overload: name, arguments, results.", is_required=True),
    Field(
        "variants",
        "text",
        choice("function", "method", "function, method", "method, function"),
        "Whether the overload is a function, a method of `Tensor`, or both.",
    ),
    Field("structured", "flag", FLAG, "Whether the out overload has a structured kernel."),
    Field("structured_delegate", "text", TEXT, "The out overload whose structured kernel serves this overload too."),
    Field("structured_inherits", "text", TEXT, "The C++ base class of the structured kernel's shape function."),
    Field(
        "precomputed",
        "list of texts",
        list_of_schema(TEXT),
        "The values that the shape function of a structured kernel passes to the kernel.",
    ),
    Field(
        "dispatch", "mapping", _TEXT_BY_NAME, "The kernel for each dispatch key, or for several: `CPU, CUDA: scale`."
    ),
    Field(
        "ufunc_inner_loop",
        "text or mapping",
        {"anyOf": [TEXT, _TEXT_BY_NAME]},
        "The scalar functions from which the loops of an element-wise kernel are made.",
    ),
    Field("autogen", "text", TEXT, "Overloads to make from this one, such as `scale.out`."),
    TAGS_FIELD,
    Field(
        "device_check",
        "text",
        choice(*(check.value for check in DeviceCheck)),
        "`NoCheck` if the tensors of a call may be on different devices.",
    ),
    Field("device_guard", "flag", FLAG, "Whether a call makes the device of the tensors the current one."),
    Field("cpp_no_default_args", "list of texts", list_of_schema(TEXT), "Arguments without default in C++."),
    Field(
        "use_const_ref_for_mutable_tensors",
        "flag",
        FLAG,
        "Whether kernels take written tensors as `const Tensor&` instead of `Tensor&`.",
    ),
    Field("python_module", "text", TEXT, "The submodule of PyTorch's Python bindings, such as `nn`."),
    Field("category_override", "text", TEXT, "A mark for PyTorch's own tools."),
    Field("manual_cpp_binding", "flag", FLAG, "Whether the C++ function for callers is written by hand."),
    Field("manual_kernel_registration", "flag", FLAG, "Whether kernels are registered by hand."),
)


def json_schema() -> dict[str, object]:
    """The schema: a list of entries. Schemas and names are texts for it; Opwright checks those."""
    return dialect_schema("Operators of PyTorch", list_of_schema(mapping_schema(ENTRY_FIELDS)))
