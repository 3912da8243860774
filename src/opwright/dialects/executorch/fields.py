"""The fields of ExecuTorch's files besides those of `native_functions.yaml`, and the JSON Schema of the files."""

from __future__ import annotations

from typing import Final

from opwright.dialects.executorch.kernel_keys import DTYPES
from opwright.dialects.field import TEXT, Field, JsonSchema, choice, dialect_schema, list_of_schema, mapping_schema
from opwright.dialects.native_functions.fields import ENTRY_FIELDS as NATIVE_FIELDS

__all__ = ["ENTRY_FIELDS", "KERNEL_FIELDS", "json_schema"]

_PAIR: Final[JsonSchema] = {"type": "array", "prefixItems": [TEXT, TEXT], "minItems": 2, "maxItems": 2}
_META: Final[JsonSchema] = {"anyOf": [{"type": "null"}, {"type": "object", "additionalProperties": _PAIR}]}


def _aliases(items: JsonSchema) -> JsonSchema:
    """The schema of aliases: lists by their names, or nothing."""
    lists = {"type": "object", "additionalProperties": list_of_schema(items)}
    return {"anyOf": [{"type": "null"}, lists]}


#: The fields of an item of `kernels`.
KERNEL_FIELDS: Final = (
    Field("arg_meta", "mapping", _META, "The alias of the dtype and that of the dim order, by argument; null for all."),
    Field("kernel_name", "C++", TEXT, "The C++ name of the kernel, with its namespaces.", is_required=True),
)
ENTRY_FIELDS: Final = (
    Field("op", "operator", TEXT, "The name of an operator of PyTorch, in place of `func`."),
    Field(
        "kernels",
        "list",
        {"anyOf": [{"type": "null"}, list_of_schema(mapping_schema(KERNEL_FIELDS))]},
        "The kernels of the operator, each for certain dtypes and dim orders or for all.",
    ),
    Field("type_alias", "mapping", _aliases(choice(*DTYPES)), "Lists of dtypes by the names that `arg_meta` uses."),
    Field(
        "dim_order_alias",
        "mapping",
        _aliases({"type": ["integer", "string"]}),
        "Dim orders by the names that `arg_meta` uses.",
    ),
)


def json_schema() -> dict[str, object]:
    """The schema: a list of entries. Schemas and names are texts for it; Opwright checks those."""
    native = tuple([field._replace(is_required=False) for field in NATIVE_FIELDS])
    return dialect_schema("Operators of ExecuTorch", list_of_schema(mapping_schema(native + ENTRY_FIELDS)))
