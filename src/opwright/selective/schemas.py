"""The names of operators by their schemas."""

from __future__ import annotations

from opwright.schema.parser import read_schema


def schema_name(schema: str) -> str:
    """The qualified name of the operator with a schema; without a namespace it is one of `aten`.

    Raises SchemaFault for a mistake in the schema.

    >>> schema_name("llama::rope.out(Tensor q, *, Tensor(a!) out) -> Tensor(a!)"), schema_name("f(Tensor x) -> Tensor")
    ('llama::rope.out', 'aten::f')
    """
    namespace, colons, _ = schema.partition("::")
    is_qualified = bool(colons) and "(" not in namespace
    name = read_schema(schema, len(namespace) + 2 if is_qualified else 0).name
    return f"{namespace if is_qualified else 'aten'}::{name}"
