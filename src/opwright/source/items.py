"""Items of a YAML list, found without parsing it, so that a run parses only the items that it needs.

The inputs of PyTorch are lists whose items start lines. The text of an item runs from one line that starts with a dash
to the next such line. If each of these texts parses alone, as a list of one item, the whole file has the same items: in
a list at the start of lines, a dash there continues nothing but a text in quotes or brackets, which would not parse
alone. So items that follow each other may be parsed at once, if they parse as a list of so many items. Where items do
not parse alone, the caller parses the whole file.
"""

from __future__ import annotations

from functools import lru_cache

from opwright.source.diagnostic import Fault
from opwright.source.nodes import MappingNode, SequenceNode
from opwright.source.span import SourceText
from opwright.source.yaml import load_yaml

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import Final, TypeAlias

    from opwright.source.nodes import Node
    from opwright.source.text import SourceFile

    ItemText: TypeAlias = "tuple[int, str]"
    """The offset of an item after its dash, and its text from there to the line of the next item."""

_DASH = "\n- "

_OTHER_BREAKS = ("\r", "\x85", "\u2028", "\u2029")
"""What ends a line in YAML besides a line feed, so that an item could begin after it."""


class ChosenItems:
    """Items of a file that a run loads, and those that changed since an earlier run loaded them."""

    __slots__ = ("changed", "file", "items")

    def __init__(self, file: SourceFile, items: Sequence[ItemText], changed: Iterable[ItemText] | None = None) -> None:
        self.file: Final = file
        self.items: Final = items
        self.changed: Final = items if changed is None else list(changed)


@lru_cache(maxsize=2)
def split_items(text: str) -> tuple[ItemText, ...]:
    """Items of a text that is a list; none if anything but comments and empty lines comes before the first one.

    A text with other line breaks than line feeds is not split. The items of the last texts are kept, because
    explanations split PyTorch's file for each operator.

    >>> split_items("# Operators.\\n- func: f() -> ()\\n\\n- func: g() -> ()\\n")
    ((15, 'func: f() -> ()\\n'), (34, 'func: g() -> ()\\n'))
    >>> split_items("a: 1\\n- b\\n"), split_items("- a\\r\\n- b\\r\\n")
    ((), ())
    """
    if any(mark in text for mark in _OTHER_BREAKS):
        return ()
    head, *parts = f"\n{text}".split(_DASH)
    if any(line and not line.startswith("#") for line in head.split("\n")):
        return ()
    items = []
    # The line break in front of the text is not in the file.
    start = len(head) + len(_DASH) - 1
    for part in parts:
        items.append((start, part))
        start += len(part) + len(_DASH)
    return tuple(items)


def runs_of(items: Iterable[ItemText]) -> Iterator[list[ItemText]]:
    """Items in runs of items that follow each other, each of which is parsed at once.

    >>> list(runs_of([(2, "a"), (6, "b"), (20, "c")]))
    [[(2, 'a'), (6, 'b')], [(20, 'c')]]
    """
    run: list[ItemText] = []
    following = 0
    for item in items:
        start, text = item
        if run and start != following:
            yield run
            run = []
        run.append(item)
        following = start + len(text) + len(_DASH)
    if run:
        yield run


def read_items(items: ChosenItems) -> list[Node] | None:
    """Nodes of items; None if one of them does not parse alone."""
    nodes: list[Node] = []
    for run in runs_of(items.items):
        received = _read_run(items.file, run)
        if received is None or len(received) != len(run):
            return None
        nodes += received
    return nodes


def _read_run(file: SourceFile, run: Sequence[ItemText]) -> list[Node] | None:
    """Nodes of items that follow each other; None if they do not parse, or depend on each other."""
    first = run[0][0] - len(_DASH) + 1
    last_start, last_text = run[-1]
    part = SourceText(file.path, file.text[first : last_start + len(last_text) + 1])
    if "\n---" in part.text or "\n..." in part.text:
        # A document ends in the items.
        return None
    try:
        root = load_yaml(part)
    except Fault:
        return None
    if part.has_anchors or not isinstance(root, SequenceNode):
        return None
    _move(root, file, first)
    return root.items


def _move(root: Node, file: SourceText, start: int) -> None:
    """Move the nodes of a part of a file to where the part starts in the file."""
    nodes = [root]
    while nodes:
        node = nodes.pop()
        node.file = file
        node.start += start
        node.end += start
        if isinstance(node, SequenceNode):
            nodes += node.items
        elif isinstance(node, MappingNode):
            nodes += [part for entry in node.entries for part in entry]
