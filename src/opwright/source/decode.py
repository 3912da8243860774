"""Decode the items of a YAML list from flat lists of strings and numbers, which processes can exchange cheaply.

The scalars stand in the order of the file, with a list for each of their fields. The collections stand in the order of
their ends, so that the decoder has made the children of a collection before it comes to the collection. Five numbers
describe a collection: how many scalars stand between the end of the collection before it and its own end, whether it is
a mapping, how many children it has, and the offsets where it starts and ends.
"""

from __future__ import annotations

from itertools import islice, repeat

from opwright.source.nodes import Mapping, Scalar, Sequence

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TypeAlias

    from opwright.source.nodes import Node
    from opwright.source.span import SourceText

    #: Starts, ends, values, styles and kinds of the scalars, and the numbers of the collections.
    EncodedItems: TypeAlias = "tuple[list[int], list[int], list[str], list[str], list[str], list[int]]"

__all__ = ["decode_items"]


def decode_items(file: SourceText, encoded: EncodedItems) -> list[Node]:
    """The nodes of encoded items.

    >>> from opwright.source.encode import encode_items
    >>> from opwright.source.span import SourceText
    >>> file = SourceText("ops.yaml", "- func: add")
    >>> decode_items(file, next(encode_items(file, 1)))[0].get("func")
    Scalar('add', 8, 11)
    """
    starts, ends, values, styles, kinds, collections = encoded
    scalars = map(Scalar, repeat(file), starts, ends, values, styles, repeat(None), kinds)
    nodes: list[Any] = []
    numbers = iter(collections)
    for scalar_count, is_mapping, child_count, start, end in zip(*[numbers] * 5, strict=True):
        nodes += islice(scalars, scalar_count)
        first = len(nodes) - child_count
        children = nodes[first:]
        del nodes[first:]
        if is_mapping:
            nodes.append(Mapping(file, start, end, list(zip(children[::2], children[1::2], strict=True))))
        else:
            nodes.append(Sequence(file, start, end, children))
    nodes += scalars
    return nodes
