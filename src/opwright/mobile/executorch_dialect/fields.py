"""Fields of ExecuTorch's files besides those of `native_functions.yaml`, their JSON Schema, and kernel keys."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Final

from opwright.dialects.field import TEXT, Field, JsonSchema, choice, dialect_schema, list_of_schema, mapping_schema
from opwright.dialects.native_functions.fields import ENTRY_FIELDS as NATIVE_FIELDS
from opwright.mobile.executorch_operators import DTYPES
from opwright.source.records import NamedTuple


class TensorSpec(NamedTuple):
    """What a kernel says of an argument: the alias of its dtypes, and its dim order."""

    type_alias: str
    dim_order: tuple[int, ...]


def kernel_keys(
    specs: Sequence[TensorSpec], aliases: Mapping[str, Sequence[str]], *, as_reference: bool = False
) -> list[str]:
    """Keys of a kernel, one for each combination of the dtypes of its aliases.

    An alias that several arguments have stands for the same dtype in all of them. The last alias varies fastest. With
    `as_reference`, a dim order of one dimension ends in a comma, as in the keys of ExecuTorch's program.

    >>> kernel_keys([TensorSpec("T0", (0, 1)), TensorSpec("T0", (0, 1))], {"T0": ["Float", "Double"]})
    ['v1/6;0,1|6;0,1', 'v1/7;0,1|7;0,1']
    """
    used = list(dict.fromkeys([spec.type_alias for spec in specs]))
    keys = []
    for combination in product(*[aliases[alias] for alias in used]):
        dtypes = dict(zip(used, combination, strict=True))
        tensors = [tensor_key(dtypes[spec.type_alias], spec.dim_order, as_reference=as_reference) for spec in specs]
        keys.append(f"v1/{'|'.join(tensors)}")
    return keys


def tensor_key(dtype: str, dim_order: Sequence[int], *, as_reference: bool = False) -> str:
    """Part of a key for a tensor. Raises KeyError for a dtype that keys do not have.

    >>> tensor_key("Float", (0, 1))
    '6;0,1'
    """
    text = ",".join(map(str, dim_order))
    return f"{DTYPES[dtype]};{text}," if as_reference and len(dim_order) == 1 else f"{DTYPES[dtype]};{text}"


_PAIR: Final[JsonSchema] = {"type": "array", "prefixItems": [TEXT, TEXT], "minItems": 2, "maxItems": 2}
_META: Final[JsonSchema] = {"anyOf": [{"type": "null"}, {"type": "object", "additionalProperties": _PAIR}]}


def _aliases(items: JsonSchema) -> JsonSchema:
    """Schema of aliases: lists by their names, or nothing."""
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
    """Schema: a list of entries. Schemas and names are texts for it; Opwright checks those."""
    native = tuple([field._replace(is_required=False) for field in NATIVE_FIELDS])
    return dialect_schema("Operators of ExecuTorch", list_of_schema(mapping_schema(native + ENTRY_FIELDS)))
