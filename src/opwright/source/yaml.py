"""Read YAML files into nodes with a span for every key and value.

PyYAML's C parser gives events with positions, from which this module builds the tree; reading positions costs little
compared to PyYAML's own loading. If the C parser is missing, the Python parser does the same more slowly.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final, Protocol

import yaml
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

from opwright.source.codes import (
    ALIAS_WRONG,
    FILE_EMPTY,
    KEY_NOT_SCALAR,
    MERGE_WRONG,
    SEVERAL_DOCUMENTS,
    TAG_UNKNOWN,
    TOO_MUCH,
)
from opwright.source.diagnostic import Fault, Label, did_you_mean, shorten
from opwright.source.lazy import lazy_pattern
from opwright.source.limits import DEPTH, SCALAR_CHARACTERS, YAML_EVENTS, YAML_REPEATED
from opwright.source.nodes import MappingNode, Node, Scalar, SequenceNode
from opwright.source.span import SourceText, Span
from opwright.source.yaml_faults import encoding_fault, syntax_fault

_TAG_PREFIX: Final = "tag:yaml.org,2002:"
_SCALAR_TAGS: Final = frozenset(
    [None, "!", *(_TAG_PREFIX + name for name in ("str", "int", "float", "bool", "null", "timestamp", "binary"))]
)
_SEQUENCE_TAGS: Final = frozenset([None, "!", _TAG_PREFIX + "seq"])
_MAPPING_TAGS: Final = frozenset([None, "!", _TAG_PREFIX + "map", _TAG_PREFIX + "set"])
_BLOCK_STYLES: Final = frozenset("|>")
_PROPERTY: Final = lazy_pattern(r"(?:\s|#[^\r\n]*[\r\n])*([&!]\S*)")
_Parser: Final = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
#: What the LibYAML in PyYAML 6.0.4 and newer says where a text nests more than 1,000 deep.
_TOO_DEEP: Final = "exceeded maximum nesting depth"


class _Mark(Protocol):
    index: int


class _Event(Protocol):
    """An event of either parser; the attributes depend on its class. A tag is written out."""

    start_mark: _Mark
    end_mark: _Mark
    anchor: str | None
    tag: str | None
    value: str
    style: str | None
    flow_style: bool


def load_yaml(file: SourceText) -> Node:
    """Root node of a YAML file.

    Raises Fault with an exact span if the file has no content (E0106), more than one document (E0105), or is not YAML
    (other codes from E0101 on).

    >>> root = load_yaml(SourceText("ops.yaml", "- func: add\\n  tags: [core]\\n"))
    >>> tags = root.items[0].get("tags")
    >>> tags.items[0].value, str(tags.items[0].span)
    ('core', 'ops.yaml:2:10')
    """
    builder = _Builder(file)
    with _parsing(file) as next_event:
        root = builder.build(next_event)
    file.has_anchors = bool(builder.anchors)
    return root


@contextmanager
def _parsing(file: SourceText, loader: Any = _Parser) -> Iterator[Callable[[], _Event]]:  # noqa: ANN401
    """A function that returns the next event of a file; it raises Fault as `load_yaml` does."""
    try:
        parser = loader(file.text)
        try:
            yield parser.get_event
        finally:
            parser.dispose()
    except yaml.MarkedYAMLError as error:
        if error.problem == _TOO_DEEP:
            _refuse_depth(file)
        raise syntax_fault(file, error) from None
    except (yaml.reader.ReaderError, UnicodeEncodeError):
        raise encoding_fault(file) from None


def _refuse_depth(file: SourceText) -> None:
    """Raise the fault of a file that nests too deep for LibYAML: it reads ahead, so that its place is not the first.

    The parser in Python has no such limit.
    """
    with _parsing(file, yaml.SafeLoader) as next_event:
        _Builder(file).build(next_event)


class _Builder:
    """Builds the tree from a parser's events without recursion, because a file may nest deeper than Python's stack."""

    __slots__ = ("alias_end", "anchors", "file", "open_anchors", "open_sizes", "repeated", "sizes")

    def __init__(self, file: SourceText) -> None:
        self.file = file
        self.alias_end = 0
        self.anchors: dict[str, Node] = {}
        self.open_anchors: dict[str, int] = {}
        # The events that aliases stand for so far, and those under each anchor: an alias repeats all of them.
        self.repeated = 0
        self.sizes: dict[str, int] = {}
        self.open_sizes: dict[str, int] = {}

    def build(self, next_event: Callable[[], _Event]) -> Node:
        file = self.file
        # The nodes of the open collection so far; of a mapping, keys and values alternate.
        nodes: list[Node] = []
        outer: list[tuple[list[Node], _Event]] = []
        for count in range(YAML_EVENTS):
            event = next_event()
            kind: type[object] = type(event)
            if kind is ScalarEvent:
                value = event.value
                if len(value) > SCALAR_CHARACTERS:
                    raise self._too_much(event, f"a value has more than {SCALAR_CHARACTERS:,} characters")
                if event.anchor is None and event.tag is None and (style := event.style or "") not in _BLOCK_STYLES:
                    start = event.start_mark.index
                    nodes.append(Scalar(file, start, event.end_mark.index, value, style))
                else:
                    nodes.append(self._marked_scalar(event))
            elif kind is MappingEndEvent or kind is SequenceEndEvent:
                children = nodes
                nodes, opening = outer.pop()
                nodes.append(self._collection(opening, event, children))
                if opening.anchor is not None:
                    self.sizes[opening.anchor] = count + self.repeated - self.open_sizes[opening.anchor]
            elif kind is MappingStartEvent or kind is SequenceStartEvent:
                if event.anchor is not None or event.tag is not None:
                    self._open_collection(event, count)
                if len(outer) == DEPTH:
                    raise self._too_much(event, f"lists and mappings nest more than {DEPTH} deep")
                outer.append((nodes, event))
                nodes = []
            elif kind is AliasEvent:
                nodes.append(self._alias(event))
            elif kind is DocumentStartEvent:
                if nodes:
                    self._refuse_second_document(event)
            elif kind is StreamEndEvent:
                return self._root(nodes)
        raise self._too_much(event, f"the file has more than {YAML_EVENTS:,} values")

    def _too_much(self, event: _Event, message: str) -> Fault:
        at = event.start_mark.index
        return Fault.at(TOO_MUCH, message, self.file.span(at, at + 1), label="too much")

    def _root(self, nodes: list[Node]) -> Node:
        if nodes:
            return nodes[0]
        raise Fault.at(
            FILE_EMPTY,
            "the file has no content",
            self.file.span(0),
            help="write `[]` for a list without items, `{}` for a mapping without keys",
        )

    def _refuse_second_document(self, event: _Event) -> None:
        raise Fault.at(
            SEVERAL_DOCUMENTS,
            "the file has several YAML documents",
            self._span(event),
            label="a second document starts here",
            help="keep one document in a file",
        )

    def _span(self, event: _Event) -> Span:
        return Span(self.file, event.start_mark.index, event.end_mark.index)

    def _marked_scalar(self, event: _Event) -> Scalar:
        self._check_tag(event, _SCALAR_TAGS)
        style = event.style or ""
        start, end = event.start_mark.index, event.end_mark.index
        if style in _BLOCK_STYLES:
            # The parser includes the blank lines after it.
            end = start + len(self.file.text[start:end].rstrip())
        scalar = Scalar(self.file, start, end, event.value, style, event.tag)
        if event.anchor is not None:
            self._check_anchor(event.anchor, event)
            self.anchors[event.anchor] = scalar
        return scalar

    def _open_collection(self, event: _Event, count: int) -> None:
        kind: type[object] = type(event)
        self._check_tag(event, _MAPPING_TAGS if kind is MappingStartEvent else _SEQUENCE_TAGS)
        if event.anchor is not None:
            self._check_anchor(event.anchor, event)
            self.open_anchors[event.anchor] = event.start_mark.index
            self.open_sizes[event.anchor] = count + self.repeated

    def _collection(self, start: _Event, end: _Event, children: list[Node]) -> Node:
        offset = start.start_mark.index
        # For the parser, a block collection ends at the next token, so take the end of its last child. An alias among
        # its children has the span of its anchor, so check the last alias too.
        last = end.end_mark.index if start.flow_style else max(children[-1].end, self.alias_end)
        node: Node
        kind: type[object] = type(start)
        if kind is SequenceStartEvent:
            node = SequenceNode(self.file, offset, last, children)
        else:
            node = MappingNode(self.file, offset, last, self._entries(children))
        if start.anchor is not None:
            del self.open_anchors[start.anchor]
            self.anchors[start.anchor] = node
        return node

    def _entries(self, children: list[Node]) -> list[tuple[Scalar, Node]]:
        entries: list[tuple[Scalar, Node]] = []
        merged: list[tuple[Scalar, Node]] = []
        for key, value in zip(children[::2], children[1::2], strict=True):
            if type(key) is not Scalar:
                raise Fault.at(
                    KEY_NOT_SCALAR,
                    f"{key.description} cannot be a key",
                    key.span,
                    help="put the key in quotes if it is text",
                )
            if key.value == "<<" and key.kind == "merge":
                merged.extend(self._merged_entries(value))
            else:
                entries.append((key, value))
        if merged:
            taken = {key.value for key, _ in entries}
            inherited: dict[str, tuple[Scalar, Node]] = {}
            for entry in merged:
                if entry[0].value not in taken:
                    inherited.setdefault(entry[0].value, entry)
            entries = [*inherited.values(), *entries]
        return entries

    def _merged_entries(self, value: Node) -> list[tuple[Scalar, Node]]:
        """Entries that `<<` merges; if two mappings have the same key, the first in the list wins."""
        if isinstance(value, MappingNode):
            return value.entries
        merged = []
        for part in value.items if isinstance(value, SequenceNode) else [value]:
            if not isinstance(part, MappingNode):
                raise Fault.at(
                    MERGE_WRONG,
                    f"`<<` merges mappings, but this is {part.description}",
                    part.span,
                    label="not a mapping",
                    help="give `<<` an alias of a mapping, or put the key in quotes if it is text",
                )
            merged.extend(part.entries)
        return merged

    def _alias(self, event: _Event) -> Node:
        name = event.anchor or ""
        self.alias_end = event.end_mark.index
        node = self.anchors.get(name)
        if node is not None:
            self.repeated += self.sizes.get(name, 1)
            if self.repeated > YAML_REPEATED:
                raise self._too_much(event, f"the file's aliases repeat more than {YAML_REPEATED:,} values")
            return node
        if name in self.open_anchors:
            start = self.open_anchors[name]
            raise Fault.at(
                ALIAS_WRONG,
                f"the alias `*{shorten(name)}` stands inside the value that it stands for",
                self._span(event),
                also=[Label(Span(self.file, start, start + 1 + len(name)), "its anchor", primary=False)],
            )
        raise Fault.at(
            ALIAS_WRONG,
            f"there is no anchor `&{shorten(name)}` before this alias",
            self._span(event),
            help=did_you_mean(name, tuple(self.anchors), "put it in quotes if it is text"),
        )

    def _check_anchor(self, name: str, event: _Event) -> None:
        if name in self.anchors or name in self.open_anchors:
            raise Fault.at(
                ALIAS_WRONG,
                f"two anchors have the name `&{shorten(name)}`",
                self._property_span(event, "&"),
                label="the second one",
            )

    def _check_tag(self, event: _Event, allowed: frozenset[str | None]) -> None:
        if event.tag not in allowed:
            span = self._property_span(event, "!")
            raise Fault.at(
                TAG_UNKNOWN,
                f"the YAML tag `{shorten(span.text)}` is not supported here",
                span,
                help="put the value in quotes if it is text that starts with `!`",
            )

    def _property_span(self, event: _Event, sign: str) -> Span:
        """Span of an event's anchor (`&`) or tag (`!`), which precede its content in either order."""
        match = _PROPERTY.match(self.file.text, event.start_mark.index)
        while match is not None:
            if match.group(1).startswith(sign):
                return Span(self.file, match.start(1), match.end(1))
            match = _PROPERTY.match(self.file.text, match.end())
        return self._span(event)
