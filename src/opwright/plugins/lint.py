"""What a lint is, a check beyond those of PyTorch's generator that reports warnings, and where lints report."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from opwright.backends.operator_records import OperatorRecord
from opwright.model.native_function import NativeFunction
from opwright.source.diagnostic import Diagnostics, Fault
from opwright.source.nodes import MappingNode, Node
from opwright.source.records import NamedTuple
from opwright.source.span import SourceText, Span
from opwright.source.text import SourceFile
from opwright.source.yaml import load_yaml
from opwright.workspace.edits import children


class Operators(NamedTuple):
    """Operators that a lint checks: those of entries in the files of a run.

    `functions` are those of entries, and `synthesized` the others. With `are_pytorch`, they are PyTorch's own, from
    `native_functions.yaml`; `tags` is then the file of tags, and `tag_names` are the tags in it. `has_meta_kernel` says
    whether PyTorch registers a kernel for Meta in Python. `nodes` gives the nodes of entries.
    """

    functions: tuple[NativeFunction, ...]
    nodes: EntryNodes
    are_pytorch: bool = False
    in_library: bool = False
    synthesized: tuple[NativeFunction, ...] = ()
    tags: SourceFile | None = None
    tag_names: frozenset[str] = frozenset()
    has_meta_kernel: Callable[[NativeFunction], bool] | None = None


class Lint(NamedTuple):
    """A lint: the code that it reports, and where it is part of the default selection.

    Where it is not, PyTorch's files have findings of it that nobody will change, or it is a matter of taste. One
    that `compares_entries` would report what follows from a missing entry.
    """

    code: str
    for_pytorch: bool = False
    for_others: bool = True
    compares_entries: bool = False


class OperatorLint(NamedTuple):
    """A lint of operators in entries like those of `native_functions.yaml`."""

    lint: Lint
    check: Callable[[Operators, Diagnostics], None]


class BackendLint(NamedTuple):
    """A lint of backends, from the records of their coverage."""

    lint: Lint
    check: Callable[[Iterable[OperatorRecord], Diagnostics], None]


def name_span(function: NativeFunction) -> Span:
    """Span of the operator's name in its entry."""
    return schema_part_span(function, function.name.text)


def schema_part_span(function: NativeFunction, text: str) -> Span:
    """Span of the first occurrence of a part of the schema; that of the entry's first character without one.

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
    """Nodes of entries. Nodes are not kept while files are loaded; a file is read again for its first node.

    >>> import opwright
    >>> node = EntryNodes().node(opwright.load()["relu"])
    >>> [key.value for key, _ in node.entries]
    ['func', 'device_check', 'variants', 'dispatch', 'tags']
    """

    __slots__ = ("_by_file",)

    def __init__(self) -> None:
        self._by_file: Final[dict[str, dict[int, MappingNode]]] = {}

    def node(self, function: NativeFunction) -> MappingNode | None:
        """Node of a function's entry; None if the file cannot be read."""
        entry = function.entry
        nodes = self._by_file.get(entry.file.path)
        if nodes is None:
            nodes = self._by_file[entry.file.path] = _mappings(entry.file)
        return nodes.get(entry.start)


def _mappings(file: SourceText) -> dict[int, MappingNode]:
    """Mappings of a file by their offsets; of those with the same offset, the outermost."""
    try:
        level: list[Node] = [load_yaml(file)]
    except Fault:
        return {}
    mappings: dict[int, MappingNode] = {}
    while level:
        for node in level:
            if isinstance(node, MappingNode):
                mappings.setdefault(node.start, node)
        level = [child for node in level for child in children(node)]
    return mappings
