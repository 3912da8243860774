"""Fields of an entry of `derivatives.yaml` that are not formulas, its JSON Schema, and what its text tells."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

from opwright.dialects.field import TEXT, Field, dialect_schema, list_of_schema, mapping_schema
from opwright.model.derivatives import DEFAULT_KEY

NAME: Final = "name"
DISPATCH: Final = "dispatch"
DIFFERENTIABILITY: Final = "output_differentiability"

DERIVATIVE_FIELDS: Final = (
    Field(NAME, "schema", TEXT, "The schema of the function that the formulas are for.", is_required=True),
    Field(
        DISPATCH,
        "mapping",
        {"type": "object", "additionalProperties": {"$ref": "#/$defs/formulas"}},
        "The formulas for each autograd key, in place of one set for all.",
    ),
    Field(
        DIFFERENTIABILITY,
        "list",
        list_of_schema({"type": ["boolean", "string"]}),
        "Whether each result is differentiable, or a C++ condition for the only one.",
    ),
)


def json_schema() -> dict[str, object]:
    """Schema: a list of entries. Formulas and the names of what they are for are texts; Opwright checks those."""
    differentiability = tuple([field for field in DERIVATIVE_FIELDS if field.name == DIFFERENTIABILITY])
    return dialect_schema(
        "Derivatives of operators of PyTorch",
        list_of_schema(mapping_schema(DERIVATIVE_FIELDS, has_others=TEXT)),
        formulas=mapping_schema(differentiability, has_others=TEXT),
    )


_OPERATOR: Final = re.compile(r"name: +([\w.]+)\(")
_DISPATCH: Final = "\n  dispatch:"
_KEY: Final = re.compile(r"\n    (\w+):")
_WORD: Final = re.compile(r"\w+")

_SYMBOLIC: Final = "_symint"
"""What the names of functions with symbolic sizes end with, where formulas call them."""


def operator_of(item: str) -> str | None:
    """Operator that an item is about; None if the item does not begin with its schema.

    >>> operator_of("name: sinh(Tensor self) -> Tensor\\n  self: grad * self.cosh()")
    'sinh'
    """
    match = _OPERATOR.match(item)
    return None if match is None else match[1]


def keyed_operators(items: Iterable[str]) -> Iterator[str]:
    """An operator for each dispatch key with derivatives: autograd's files have a section for each of these keys."""
    keys: set[str] = set()
    for item in items:
        new = set(_KEY.findall(item) if _DISPATCH in item else [DEFAULT_KEY]) - keys
        if new and (name := operator_of(item)) is not None:
            keys |= new
            yield name


def called_names(item: str) -> Iterator[str]:
    """Words of an item, whose formulas a run checks; some of them name operators."""
    for word in _WORD.findall(item):
        yield word.removesuffix(_SYMBOLIC)
