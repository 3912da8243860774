"""Encode the items of a YAML list straight from the parser's events; `decode` describes the form.

The process that prefetches does this. It makes no nodes, and handles only the YAML that PyTorch's files have; the other
process reads the rest with `load_yaml`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from yaml.events import (
    DocumentEndEvent,
    DocumentStartEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
    StreamEndEvent,
    StreamStartEvent,
)

from opwright.source.limits import DEPTH, SCALAR_CHARACTERS, YAML_EVENTS
from opwright.source.nodes import scalar_kind
from opwright.source.span import SourceText
from opwright.source.yaml import BLOCK_STYLES, block_end, parsing

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import TypeAlias

    from opwright.source.decode import EncodedItems
    from opwright.source.yaml import Event

    #: Starts, ends, values and styles.
    _Scalars: TypeAlias = "tuple[list[int], list[int], list[str], list[str]]"

__all__ = ["Strings", "encode_items"]

_MERGE = "<<"


def encode_items(file: SourceText, at_once: int, strings: Strings | None = None) -> Iterator[EncodedItems]:
    """The items of a file that is a list, `at_once` scalars or more at a time; the last chunk is empty.

    Texts that are parsed one after the other may share their `strings`.

    Raises Fault where the parser does. Raises ValueError for YAML that only `load_yaml` reads: a root that is no list,
    anchors, aliases, tags, merged mappings, keys that are no scalars.

    >>> [values for _, _, values, *_ in encode_items(SourceText("tags.yaml", "[a, [b], c, [d], e]"), 2)]
    [['a', 'b'], ['c', 'd'], ['e'], []]
    """
    with parsing(file) as next_event:
        _expect(next_event(), StreamStartEvent)
        _expect(next_event(), DocumentStartEvent)
        root = next_event()
        _expect(root, SequenceStartEvent)
        yield from _encode(file, root, next_event, at_once, strings or Strings())
        _expect(next_event(), DocumentEndEvent)
        _expect(next_event(), StreamEndEvent)
        yield [], [], [], [], [], []


def _expect(event: Event, kind: type[object]) -> None:
    if type(event) is not kind:
        raise ValueError("not a list in a single document")


def _encode(
    file: SourceText, root: Event, next_event: Callable[[], Event], at_once: int, strings: Strings
) -> Iterator[EncodedItems]:
    nesting = _Nesting(root)
    scalars: _Scalars = [], [], [], []
    starts, ends, values, styles = scalars
    end = 0
    # PyTorch's entries have some 23,500 scalars, so this loop calls little besides the parser.
    for _ in range(YAML_EVENTS):
        event = next_event()
        kind: type[object] = type(event)
        if kind is ScalarEvent:
            style, value = event.style or "", event.value
            if event.anchor is not None or event.tag is not None or value == _MERGE or len(value) > SCALAR_CHARACTERS:
                raise ValueError("an anchor, a tag, a merge or a long scalar")
            start, end = event.start_mark.index, event.end_mark.index
            if style in BLOCK_STYLES:
                end = block_end(file, start, end)
            starts.append(start)
            ends.append(end)
            values.append(value)
            styles.append(style)
            nesting.children += 1
        elif kind is MappingEndEvent or kind is SequenceEndEvent:
            if len(nesting.opened) == 1:
                yield strings.chunk(scalars, nesting.take())
                return
            # For the parser, a block collection ends where the next token starts: keep the end of its last child.
            if nesting.opened[-1][0].flow_style:
                end = event.end_mark.index
            nesting.close(kind is MappingEndEvent, len(starts), end)
        elif kind is MappingStartEvent or kind is SequenceStartEvent:
            nesting.open(event)
        else:
            raise ValueError("an alias")
        if len(starts) >= at_once and len(nesting.opened) == 1:
            yield strings.chunk(scalars, nesting.take())
            scalars = [], [], [], []
            starts, ends, values, styles = scalars
    raise ValueError("too many values")


class _Nesting:
    """The collections that are open, and the numbers of those that have ended."""

    def __init__(self, root: Event) -> None:
        self.opened: list[tuple[Event, int]] = []
        """The first events of the open collections, each with the number of children of the one around it."""
        self.children = 0
        """How many children the innermost open collection has so far."""
        self._numbers: list[int] = []
        self._scalars = 0
        self.open(root)

    def open(self, event: Event) -> None:
        """Open a collection."""
        if event.anchor is not None or event.tag is not None or len(self.opened) == DEPTH:
            raise ValueError("an anchor, a tag, or nested too deeply")
        around: type[object] | None = type(self.opened[-1][0]) if self.opened else None
        if around is MappingStartEvent and self.children % 2 == 0:
            raise ValueError("a collection as a key")
        self.opened.append((event, self.children))
        self.children = 0

    def close(self, is_mapping: bool, scalars: int, end: int) -> None:
        """Close the innermost collection, which ends at `end` and after so many scalars of the chunk."""
        opening, siblings = self.opened.pop()
        self._numbers += (scalars - self._scalars, is_mapping, self.children, opening.start_mark.index, end)
        self._scalars = scalars
        self.children = siblings + 1

    def take(self) -> list[int]:
        """The numbers of the collections that ended since the last call."""
        numbers, self._numbers, self._scalars = self._numbers, [], 0
        return numbers


class Strings:
    """Shares equal strings, also in the other process, and works out the kind of a string once."""

    def __init__(self) -> None:
        self._strings: dict[str, str] = {}
        self._kinds: dict[tuple[str, str], str] = {}

    def chunk(self, scalars: _Scalars, collections: list[int]) -> EncodedItems:
        """Scalars with their kinds, and collections."""
        starts, ends, values, styles = scalars
        shared, kind_of = self._strings, self._kinds
        values = [shared.setdefault(value, value) for value in values]
        kinds = [
            kind_of.get(key) or kind_of.setdefault(key, scalar_kind(*key)) for key in zip(values, styles, strict=True)
        ]
        return starts, ends, values, styles, kinds, collections
