"""A list of nodes as flat lists of words and numbers, which go to another process for little.

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

    Flat: TypeAlias = "tuple[list[int], list[int], list[str], list[str], list[str | None], list[str], list[int]]"

__all__ = ["Flattening", "unflattened"]


class Flattening:
    """Takes nodes one by one, and gives the lists for those that it took since it gave the last.

    >>> from opwright.source.span import SourceText
    >>> from opwright.source.yaml import load_yaml
    >>> flattening = Flattening()
    >>> flattening.add(load_yaml(SourceText("ops.yaml", "[a, 1]")))
    >>> flattening.taken()
    ([1, 4], [2, 5], ['a', '1'], ['', ''], [None, None], ['str', 'int'], [2, False, 2, 0, 6])
    """

    def __init__(self) -> None:
        self._scalars: list[Scalar] = []
        self._collections: list[int] = []
        self._done = 0
        self._words: dict[str, str] = {}
        self._kinds: dict[tuple[str, str, str | None], str] = {}

    def __len__(self) -> int:
        return len(self._scalars)

    def add(self, node: Node) -> None:
        """Take a node, in which no node may stand twice. Raises RecursionError where it is nested too deeply."""
        if isinstance(node, Scalar):
            self._scalars.append(node)
            return
        if isinstance(node, Mapping):
            children: list[Node] = [part for entry in node.entries for part in entry]
        else:
            children = node.items
        for child in children:
            if type(child) is Scalar:
                self._scalars.append(child)
            else:
                self.add(child)
        count = len(self._scalars)
        self._collections += (count - self._done, isinstance(node, Mapping), len(children), node.start, node.end)
        self._done = count

    def taken(self) -> Flat:
        """The lists for the nodes that were taken since this was asked last."""
        scalars, collections = self._scalars, self._collections
        self._scalars, self._collections, self._done = [], [], 0
        word = self._words.setdefault
        return (
            [one.start for one in scalars],
            [one.end for one in scalars],
            # The same word is the same string in the other process too.
            [word(one.value, one.value) for one in scalars],
            [one.style for one in scalars],
            [one.tag for one in scalars],
            [self._kind(one) for one in scalars],
            collections,
        )

    def _kind(self, scalar: Scalar) -> str:
        """The kind of a scalar, worked out once for each word."""
        key = (scalar.value, scalar.style, scalar.tag)
        return self._kinds.get(key) or self._kinds.setdefault(key, scalar.kind)


def unflattened(file: SourceText, flat: Flat) -> list[Node]:
    """The nodes of a file from their lists.

    >>> from opwright.source.span import SourceText
    >>> from opwright.source.yaml import load_yaml
    >>> file = SourceText("ops.yaml", "- func: add")
    >>> flattening = Flattening()
    >>> flattening.add(load_yaml(file).items[0])
    >>> unflattened(file, flattening.taken())[0].get("func")
    Scalar('add', 8, 11)
    """
    *fields, collections = flat
    columns: Any = fields
    scalars = map(Scalar, repeat(file), *columns)
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
