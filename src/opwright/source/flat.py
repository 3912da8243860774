"""The items of a YAML list as flat lists of words and numbers, which pass between processes for little.

The scalars stand in the order of the file, a list for each of their fields. The collections stand in the order of
their ends, so that each finds its children made. Five numbers tell of each: how many scalars stand before its end and
after that of the collection before it, whether it is a mapping, how many children it has, where it starts and ends.
"""

from __future__ import annotations

from itertools import islice, repeat

from opwright.source.nodes import Mapping, Scalar, Sequence

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TypeAlias

    from opwright.source.nodes import Node
    from opwright.source.span import SourceText

    Flat: TypeAlias = "tuple[list[int], list[int], list[str], list[str], list[str], list[int]]"

__all__ = ["unflattened"]


def unflattened(file: SourceText, flat: Flat) -> list[Node]:
    """The items of a file from their lists.

    >>> from opwright.source.flattening import flattened
    >>> from opwright.source.span import SourceText
    >>> file = SourceText("ops.yaml", "- func: add")
    >>> unflattened(file, next(flattened(file, 1)))[0].get("func")
    Scalar('add', 8, 11)
    """
    starts, ends, values, styles, kinds, collections = flat
    scalars = map(Scalar, repeat(file), starts, ends, values, styles, repeat(None), kinds)
    nodes: list[Any] = []
    numbers = iter(collections)
    for waiting, is_mapping, count, start, end in zip(numbers, numbers, numbers, numbers, numbers, strict=True):
        nodes += islice(scalars, waiting)
        first = len(nodes) - count
        children = nodes[first:]
        del nodes[first:]
        if is_mapping:
            nodes.append(Mapping(file, start, end, list(zip(children[::2], children[1::2], strict=True))))
        else:
            nodes.append(Sequence(file, start, end, children))
    nodes += scalars
    return nodes
