"""YAML read straight into flat lists, by a process that reads ahead; `flat` tells of their form."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from yaml.events import (
    AliasEvent,
    DocumentStartEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
    StreamEndEvent,
)

from opwright.source.limits import DEPTH, SCALAR_CHARACTERS, YAML_EVENTS
from opwright.source.nodes import scalar_kind
from opwright.source.span import SourceText
from opwright.source.yaml import BLOCK_STYLES, block_end, parsing

if TYPE_CHECKING:
    from opwright.source.flat import Flat
    from opwright.source.yaml import Event

__all__ = ["flattened"]

_MERGE = "<<"


def flattened(file: SourceText, at_once: int) -> Iterator[Flat]:
    """The items of a file that is a list, so many scalars or more at a time; an empty part stands at the end.

    Raises Fault as `load_yaml` does, when it comes to the fault, and ValueError for what is seldom and not worth to be
    read in two ways: another root than a list, anchors, tags, merged mappings, strange keys.

    >>> [values for _, _, values, *_ in flattened(SourceText("tags.yaml", "[a, [b], c, [d], e]"), 2)]
    [['a', 'b'], ['c', 'd'], ['e'], []]
    """
    with parsing(file) as next_event:
        yield from _parts(file, next_event, at_once)


def _parts(file: SourceText, next_event: Callable[[], Event], at_once: int) -> Iterator[Flat]:
    words: dict[str, str] = {}
    kinds: dict[tuple[str, str], str] = {}
    starts: list[int] = []
    ends: list[int] = []
    values: list[str] = []
    styles: list[str] = []
    collections: list[int] = []
    # How many scalars stood before the end of the last collection, where the last node ended, and how many children the
    # open collection has; the open ones with their first events, and the children of the one around each.
    done = end = count = 0
    opened: list[tuple[Event, int]] = []
    has_document = False

    def taken() -> Flat:
        # The same word is one string in the other process too, and its kind is worked out once.
        strings = [words.setdefault(value, value) for value in values]
        of = [kinds.get(key) or kinds.setdefault(key, scalar_kind(*key)) for key in zip(strings, styles, strict=True)]
        return starts, ends, strings, styles, of, collections

    for _ in range(YAML_EVENTS):
        event = next_event()
        kind: type[object] = type(event)
        if kind is ScalarEvent:
            style, value = event.style or "", event.value
            if event.anchor is not None or event.tag is not None or value == _MERGE or len(value) > SCALAR_CHARACTERS:
                raise ValueError("a scalar to look at closer")
            start, end = event.start_mark.index, event.end_mark.index
            if style in BLOCK_STYLES:
                end = block_end(file, start, end)
            starts.append(start)
            ends.append(end)
            values.append(value)
            styles.append(style)
            count += 1
        elif kind is MappingEndEvent or kind is SequenceEndEvent:
            opening, around = opened.pop()
            if not opened:
                continue
            # A block collection ends for the parser where the next thing starts, so its last child says its end.
            if opening.flow_style:
                end = event.end_mark.index
            collections += (len(starts) - done, kind is MappingEndEvent, count, opening.start_mark.index, end)
            done = len(starts)
            count = around + 1
        elif kind is MappingStartEvent or kind is SequenceStartEvent:
            if event.anchor is not None or event.tag is not None or _is_strange(event, opened, count):
                raise ValueError("a collection to look at closer")
            if len(opened) == DEPTH:
                raise ValueError("nested too deeply")
            opened.append((event, count))
            count = 0
        elif kind is AliasEvent:
            raise ValueError("an alias")
        elif kind is StreamEndEvent:
            if not has_document:
                raise ValueError("nothing at all")
            yield taken()
            yield [], [], [], [], [], []
            return
        elif kind is DocumentStartEvent:
            if has_document:
                raise ValueError("a second document")
            has_document = True
        if not opened and kind is ScalarEvent:
            raise ValueError("no list")
        if len(opened) == 1 and len(starts) >= at_once:
            yield taken()
            starts, ends, values, styles, collections = [], [], [], [], []
            done = 0
    raise ValueError("too many values")


def _is_strange(event: Event, opened: list[tuple[Event, int]], count: int) -> bool:
    """Whether a collection is the root and no list, or stands as a key."""
    kind: type[object] = type(event)
    if not opened:
        return kind is MappingStartEvent
    around: type[object] = type(opened[-1][0])
    return around is MappingStartEvent and count % 2 == 0
