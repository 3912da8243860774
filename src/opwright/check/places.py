"""Where lints report: the nodes and spans of entries."""

from __future__ import annotations

from typing import Final

from opwright.model.native_function import NativeFunction
from opwright.source.diagnostic import Fault
from opwright.source.node_edits import children
from opwright.source.nodes import Mapping, Node
from opwright.source.span import SourceText, Span
from opwright.source.yaml import load_yaml

__all__ = ["EntryNodes", "name_span", "schema_part_span"]


def name_span(function: NativeFunction) -> Span:
    """The span of the operator's name in its entry."""
    return schema_part_span(function, function.name.text)


def schema_part_span(function: NativeFunction, text: str) -> Span:
    """The span of the first occurrence of a part of the schema; that of the entry's first character without one.

    >>> import opwright
    >>> schema_part_span(opwright.load()["relu"], "Tensor self").text
    'Tensor self'
    """
    entry = function.entry
    start = entry.file.text.find(text, entry.start, entry.end)
    if start < 0:
        return Span(entry.file, entry.start, min(entry.start + 1, entry.end))
    return Span(entry.file, start, start + len(text))


class EntryNodes:
    """The nodes of entries. Nodes are not kept while files are loaded; a file is read again for its first node.

    >>> import opwright
    >>> node = EntryNodes().node(opwright.load()["relu"])
    >>> [key.value for key, _ in node.entries]
    ['func', 'device_check', 'variants', 'dispatch', 'tags']
    """

    __slots__ = ("_by_file",)

    def __init__(self) -> None:
        self._by_file: Final[dict[str, dict[int, Mapping]]] = {}

    def node(self, function: NativeFunction) -> Mapping | None:
        """The node of a function's entry; None if the file cannot be read."""
        entry = function.entry
        nodes = self._by_file.get(entry.file.path)
        if nodes is None:
            nodes = self._by_file[entry.file.path] = _mappings(entry.file)
        return nodes.get(entry.start)


def _mappings(file: SourceText) -> dict[int, Mapping]:
    """The mappings of a file by their offsets; of those with the same offset, the outermost."""
    try:
        level: list[Node] = [load_yaml(file)]
    except Fault:
        return {}
    mappings: dict[int, Mapping] = {}
    while level:
        for node in level:
            if isinstance(node, Mapping):
                mappings.setdefault(node.start, node)
        level = [child for node in level for child in children(node)]
    return mappings
