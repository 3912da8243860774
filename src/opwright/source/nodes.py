"""YAML nodes with spans.

A scalar has its YAML value and maps any part of that value back to the file: see `Scalar.span_of`. YAML 1.1 gives plain
scalars types (`yes` is a boolean, `1` an integer). A scalar computes its type on demand with PyYAML's own rules, so
that it is the type that `yaml.safe_load` would give.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from re import Pattern
from typing import Final, TypeAlias, cast

from opwright.source.codes import VALUE_UNREADABLE
from opwright.source.diagnostic import Fault, Suggestion, did_you_mean, shorten
from opwright.source.records import Copyable, mutable_fields, not_fingerprinted
from opwright.source.span import SourceText, Span, without_place

_TAG_PREFIX: Final = "tag:yaml.org,2002:"
_KIND_NAMES: Final = {
    "str": "a string",
    "bool": "a boolean",
    "int": "an integer",
    "float": "a number",
    "null": "nothing",
    "timestamp": "a date",
    "binary": "binary data",
}
#: Plain scalars that are no strings, with their types; PyYAML knows more.
_PLAIN_WORDS: Final = {"True": True, "true": True, "False": False, "false": False}


class _Placed:
    """What has a place in a file."""

    __slots__ = ()

    file: SourceText
    start: int
    end: int

    @property
    def span(self) -> Span:
        """Node in the file, from its quotes, tag, dash, bracket or first key to the end of its last part."""
        return Span(self.file, self.start, self.end)

    def get(self, key: str) -> Node | None:
        """None: only mappings have keys."""

    def python_value(self) -> object:
        """Value that `yaml.safe_load` gives. Raises Fault (E0115) if a text has a wrong form for its type."""
        try:
            return _plain_value(cast("Node", self), {})
        except RecursionError:
            raise Fault.at(VALUE_UNREADABLE, "the value nests too deeply", self.file.span(self.start)) from None


@without_place
@not_fingerprinted(_kind="it follows from value, style and tag")
class Scalar(_Placed):
    """A scalar: its value as a string, and its style (`""` for plain, else `'`, `"`, `|` or `>`).

    `tag` is the explicit one (`tag:yaml.org,2002:str` for `!!str`), or None.
    """

    __slots__ = ("_kind", "end", "file", "start", "style", "tag", "value")

    def __init__(
        self,
        file: SourceText,
        start: int,
        end: int,
        value: str,
        style: str = "",
        tag: str | None = None,
        kind: str | None = None,
    ) -> None:
        self.file = file
        self.start = start
        self.end = end
        self.value = value
        self.style = style
        self.tag = tag
        self._kind = kind

    def __repr__(self) -> str:
        return f"Scalar({self.value!r}, {self.start}, {self.end})"

    @property
    def kind(self) -> str:
        """Type by YAML 1.1: `str`, `bool`, `int`, `float`, `null`, `timestamp`, or the name of another tag."""
        if self._kind is None:
            self._kind = scalar_kind(self.value, self.style, self.tag)
        return self._kind

    @property
    def description(self) -> str:
        """Type in a word or two for messages: `a string`, `an integer`, `nothing`."""
        return _KIND_NAMES.get(self.kind, f"a `{self.kind}`")

    def span_of(self, start: int, end: int) -> Span:
        """Exact span of the characters `value[start:end]`, for all styles.

        If folding or an escape changed a part, the span covers it as written. If start equals end, the span is the
        point before that character. Unless the file contains the value verbatim, this scans the scalar, so call it only
        for a fault.
        """
        start = min(max(start, 0), len(self.value))
        end = min(max(end, start), len(self.value))
        if self.end - self.start == len(self.value) and self.file.text.startswith(self.value, self.start):
            return Span(self.file, self.start + start, self.start + end)
        from opwright.source.scalars import raw_offsets  # Only a run that has a fault needs it.

        offsets = raw_offsets(self.file.text, self.start, self.end, self.style, self.value)
        if offsets is None:
            return self.span
        first = offsets[start][0]
        return Span(self.file, first, offsets[end - 1][1] if end > start else first)

    def python_value(self) -> object:
        """Value that `yaml.safe_load` gives. Raises Fault (E0115) if the text has a wrong form for its type."""
        kind = self.kind
        if kind == "str":
            return self.value
        if self.value in _PLAIN_WORDS and self.tag is None:
            return _PLAIN_WORDS[self.value]
        # Importing PyYAML takes as long as reading a file, and another process may have read the file.
        from yaml.constructor import ConstructorError, SafeConstructor
        from yaml.nodes import ScalarNode

        constructor = SafeConstructor()
        try:
            return constructor.construct_object(ScalarNode(_TAG_PREFIX + kind, self.value))
        except (ValueError, LookupError, OverflowError, AttributeError, ConstructorError):
            # PyYAML fails in different ways on a wrong form, for instance with None as the match of a date with
            # letters.
            raise Fault.at(
                VALUE_UNREADABLE,
                f"`{shorten(self.value)}` cannot be read as {self.description}",
                self.span,
                label=f"not {self.description}",
                help="put it in quotes if it is text",
            ) from None


@without_place
@mutable_fields
class SequenceNode(_Placed):
    """A list of nodes."""

    description = "a list"

    file: SourceText
    start: int
    end: int
    items: list[Node]

    def __repr__(self) -> str:
        return f"SequenceNode({len(self.items)} items, {self.start}, {self.end})"

    def __len__(self) -> int:
        return len(self.items)

    def __iter__(self) -> Iterator[Node]:
        return iter(self.items)


@without_place
@mutable_fields
class MappingNode(_Placed, Copyable):
    """A mapping: its keys, which are scalars, with their values, in the order of the file. Keys may repeat.

    If the file merges other mappings with `<<`, their entries come before the mapping's own.
    """

    description = "a mapping"

    file: SourceText
    start: int
    end: int
    entries: list[tuple[Scalar, Node]]

    def __repr__(self) -> str:
        return f"MappingNode({len(self.entries)} entries, {self.start}, {self.end})"

    def __len__(self) -> int:
        return len(self.entries)

    def __iter__(self) -> Iterator[tuple[Scalar, Node]]:
        return iter(self.entries)

    def entry(self, key: str) -> tuple[Scalar, Node] | None:
        """The key's node and its value, or None; of repeated keys, the last."""
        for entry in reversed(self.entries):
            if entry[0].value == key:
                return entry
        return None

    def get(self, key: str) -> Node | None:
        """The key's value, or None; of repeated keys, the last, as in `yaml.safe_load`."""
        entry = self.entry(key)
        return None if entry is None else entry[1]

    def duplicate_keys(self) -> list[tuple[Scalar, Scalar]]:
        """Keys that repeat an earlier key, as pairs of the earlier and the later key."""
        if len({key.value for key, _ in self.entries}) == len(self.entries):
            return []
        first: dict[tuple[str, str], Scalar] = {}
        repeated = []
        for key, _ in self.entries:
            earlier = first.setdefault((key.kind, key.value), key)
            if earlier is not key:
                repeated.append((earlier, key))
        return repeated


Node: TypeAlias = "Scalar | SequenceNode | MappingNode"


def did_you_mean_key(key: Scalar, mapping: MappingNode, names: Iterable[str], otherwise: str = "") -> Suggestion:
    """A question with the name most like an unknown key of a mapping, and not one of its other keys."""
    present = _key_texts(mapping)
    return did_you_mean(key.value, [name for name in names if name not in present], otherwise)


@lru_cache(maxsize=1)
def _key_texts(mapping: MappingNode) -> frozenset[str]:
    """Keys of a mapping, kept because a mapping may have a hundred thousand unknown ones."""
    return frozenset([key.value for key, _ in mapping.entries])


def scalar_kind(value: str, style: str, tag: str | None = None) -> str:
    """Type of a scalar by YAML 1.1; see `Scalar.kind`."""
    if tag is not None and tag != "!":
        return tag.removeprefix(_TAG_PREFIX)
    if style or tag is not None:
        return "str"
    for form_tag, form in _plain_forms().get(value[:1], ()):
        if form.match(value):
            return str(form_tag).removeprefix(_TAG_PREFIX)
    return "str"


@cache
def _plain_forms() -> Mapping[str, Sequence[tuple[str, Pattern[str]]]]:
    """Forms of plain scalars that are no strings, with their tags, by the first character."""
    from yaml.resolver import Resolver

    return Resolver.yaml_implicit_resolvers


def _plain_value(node: Node, values: dict[int, object]) -> object:
    # Convert a node that aliases share only once; nested aliases would otherwise grow exponentially.
    if isinstance(node, Scalar):
        return node.python_value()
    plain = values.get(id(node))
    if plain is None:
        if isinstance(node, SequenceNode):
            plain = [_plain_value(item, values) for item in node.items]
        else:
            plain = {key.python_value(): _plain_value(value, values) for key, value in node.entries}
        values[id(node)] = plain
    return plain


def text_of(node: Node | None) -> str:
    """Text of a scalar; empty for other nodes, and for none.

    >>> from opwright.source.text import SourceFile
    >>> from opwright.source.yaml import load_yaml
    >>> root = load_yaml(SourceFile("acme.yaml", "backend: XLA"))
    >>> text_of(root.get("backend")), text_of(root.get("class_name"))
    ('XLA', '')
    """
    return node.value if isinstance(node, Scalar) else ""


_ESCAPES: Final = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"}


def quoted_scalar(text: str) -> str:
    """A text as a scalar in double quotes, on one line."""
    return f'"{"".join(map(escaped, text))}"'


def escaped(character: str) -> str:
    """A character as double quotes have it."""
    if character in _ESCAPES:
        return _ESCAPES[character]
    if character.isprintable():
        return character
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
