"""The fields of a library's entries that PyTorch's entries lack, each with its reader."""

from __future__ import annotations

from typing import Final

from opwright.dialects.native_functions.entry_builder import EntryBuilder, Reader
from opwright.source.nodes import Node, Scalar

__all__ = ["READERS"]


def _read_doc(node: Node, builder: EntryBuilder) -> None:
    if isinstance(node, Scalar) and node.kind == "str":
        builder.library_fields = builder.library_fields._replace(doc=node.value)
    else:
        builder.wrong_type(node, "doc", "a text")


READERS: Final[dict[str, Reader]] = {"doc": _read_doc}
