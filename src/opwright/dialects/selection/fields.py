"""Fields of a selection of operators and of each operator in it, and the JSON Schema of selections."""

from __future__ import annotations

from typing import Final

from opwright.dialects.field import FLAG, Field, JsonSchema, dialect_schema, list_of_schema, mapping_schema

# Numbers and booleans count as they are written.
_TEXTS: Final = list_of_schema({"type": ["string", "number", "boolean", "null"]})
_TEXTS_BY_NAME: Final[JsonSchema] = {"type": "object", "additionalProperties": _TEXTS}

SELECTION_FIELDS: Final = (
    Field("include_all_operators", "flag", FLAG, "Whether all operators are selected."),
    Field("include_all_non_op_selectives", "flag", FLAG, "Whether everything besides operators is selected."),
    Field(
        "operators",
        "mapping",
        {"type": "object", "additionalProperties": {"$ref": "#/$defs/operator"}},
        "The selected operators, by names such as `aten::add.Tensor`.",
    ),
    Field("kernel_metadata", "mapping", _TEXTS_BY_NAME, "The dtypes that each kernel is built for, by its tag."),
    Field("et_kernel_metadata", "mapping", _TEXTS_BY_NAME, "The kernel keys of ExecuTorch, by operator."),
    Field("custom_classes", "list of texts", _TEXTS, "The selected TorchScript classes."),
    Field("build_features", "list of texts", _TEXTS, "The selected features of the build."),
    Field("debug_info", "list of texts", _TEXTS, "Where the selection comes from."),
)
OPERATOR_FIELDS: Final = (
    Field("is_root_operator", "flag", FLAG, "Whether programs call the operator themselves."),
    Field("is_used_for_training", "flag", FLAG, "Whether the operator is needed for training."),
    Field("include_all_overloads", "flag", FLAG, "Whether all overloads of the operator are selected."),
    Field("debug_info", "list of texts", _TEXTS, "Where the operator comes from."),
    Field("name", "text", {}, "The name again; Opwright reads the key."),
)


def json_schema() -> dict[str, object]:
    """Schema: a mapping with the fields of a selection. Names are texts for it; Opwright checks those."""
    operator = mapping_schema(OPERATOR_FIELDS)
    return dialect_schema("Selection of operators of PyTorch", mapping_schema(SELECTION_FIELDS), operator=operator)
