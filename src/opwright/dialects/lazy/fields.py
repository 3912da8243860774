"""The fields that files for lazy tensors have besides those of backend files."""

from __future__ import annotations

from typing import Final

from opwright.dialects.field import TEXT, TEXTS, Field, list_of_schema

__all__ = ["LAZY_FIELDS", "NODE_FIELDS"]

_NAMES: Final = list_of_schema(TEXT)

#: The fields of an entry of `non_native`.
NODE_FIELDS: Final = (
    Field("func", "schema", TEXT, "The schema that the node follows.", is_required=True),
    Field("opkind", "C++", TEXT, "The kind of the node as a C++ expression; by default the operator's symbol."),
    Field("properties", "list of names", TEXTS, "Which functions the node has, and where its shape comes from."),
)
LAZY_FIELDS: Final = (
    Field("full_codegen", "list of names", _NAMES, "Operators whose kernels and nodes are generated."),
    Field("ir_gen", "list of names", _NAMES, "Operators whose nodes are generated, without kernels."),
    Field(
        "non_native",
        "list",
        list_of_schema({"$ref": "#/$defs/node"}),
        "Nodes that stand for no operator of PyTorch.",
    ),
)
