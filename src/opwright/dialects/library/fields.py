"""The fields of a library's entries that PyTorch's entries lack, each with its reader."""

from __future__ import annotations

from typing import Final

from opwright.dialects.native_functions.entry_builder import EntryBuilder, Reader
from opwright.source.nodes import Node, Scalar, Sequence

__all__ = ["READERS"]


def _read_doc(node: Node, builder: EntryBuilder) -> None:
    if isinstance(node, Scalar) and node.kind == "str":
        builder.library_fields = builder.library_fields._replace(doc=node.value)
    else:
        builder.wrong_type(node, "doc", "a text")


def _read_samples(node: Node, builder: EntryBuilder) -> None:
    items = node.items if isinstance(node, Sequence) else ()
    samples = tuple([item.value for item in items if isinstance(item, Scalar)])
    if items and len(samples) == len(items):
        builder.library_fields = builder.library_fields._replace(samples=samples)
    else:
        builder.wrong_type(node, "samples", "a list of arguments as Python has them")


READERS: Final[dict[str, Reader]] = {"doc": _read_doc, "samples": _read_samples}
