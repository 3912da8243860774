"""Values of keys that plug-ins declare, as plain values that also know their places in the file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Final, TypeAlias

from opwright.source.records import not_fingerprinted

if TYPE_CHECKING:
    from opwright.source.nodes import Node, Scalar
    from opwright.source.span import Span

ExtraValue: TypeAlias = "bool | int | float | str | tuple[ExtraValue, ...] | ExtraValues | None"
"""A plain value; a list is a tuple, and a mapping is an `ExtraValues`."""


@not_fingerprinted(_text="it is the representation of `_values`")
class ExtraValues(Mapping[str, ExtraValue]):
    """Values of extra keys by name: those of the file, and defaults for the others.

    Two of them are equal if their values are: where a value stands in its file is no part of it.

    >>> values = ExtraValues({"profiled": True, "names": ("a", "b"), "result": ExtraValues({"size": "self"})})
    >>> values.flag("profiled"), values.texts("names"), values.fields("result").text("size")
    (True, ('a', 'b'), 'self')
    """

    __slots__ = ("_nodes", "_text", "_values")

    def __init__(
        self, values: Mapping[str, ExtraValue] | None = None, nodes: Mapping[str, tuple[Scalar, Node]] | None = None
    ) -> None:
        self._values: Final = dict(values or {})
        self._nodes: Final = dict(nodes or {})
        self._text: str | None = None

    def __getitem__(self, name: str) -> ExtraValue:
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        if self._text is None:
            self._text = f"ExtraValues({self._values!r})"
        return self._text

    def __eq__(self, other: object) -> bool:
        # True and 1 are equal, but not the same value.
        return repr(self) == repr(other) if isinstance(other, ExtraValues) else NotImplemented

    def __hash__(self) -> int:
        return hash(repr(self))

    @property
    def names_in_file(self) -> tuple[str, ...]:
        """Names of the keys that the file has."""
        return tuple(self._nodes)

    def node(self, name: str) -> Node | None:
        """Value of a key as a node of the file; None if it is a default."""
        entry = self._nodes.get(name)
        return None if entry is None else entry[1]

    def span(self, name: str) -> Span | None:
        """Span of the value of a key; None if it is a default."""
        node = self.node(name)
        return None if node is None else node.span

    def key_span(self, name: str) -> Span | None:
        """Span of the key itself; None if the file does not have it."""
        entry = self._nodes.get(name)
        return None if entry is None else entry[0].span

    def flag(self, name: str) -> bool:
        """A value that is a boolean; False if there is none. Raises TypeError for other values."""
        value = self._values.get(name)
        if value is None or isinstance(value, bool):
            return bool(value)
        raise TypeError(f"the value of `{name}` is {value!r}, not a boolean")

    def text(self, name: str) -> str:
        """A value that is a text; empty if there is none. Raises TypeError for other values."""
        value = self._values.get(name)
        if value is None or isinstance(value, str):
            return value or ""
        raise TypeError(f"the value of `{name}` is {value!r}, not a text")

    def texts(self, name: str) -> tuple[str, ...]:
        """A value that is a list of texts; empty if there is none. Raises TypeError for other values."""
        value = self._values.get(name)
        if value is None:
            return ()
        if isinstance(value, tuple):
            texts = tuple([item for item in value if isinstance(item, str)])
            if len(texts) == len(value):
                return texts
        raise TypeError(f"the value of `{name}` is {value!r}, not a list of texts")

    def fields(self, name: str) -> ExtraValues:
        """A value that is a mapping; empty if there is none. Raises TypeError for other values."""
        value = self._values.get(name)
        if value is None:
            return NO_VALUES
        if isinstance(value, ExtraValues):
            return value
        raise TypeError(f"the value of `{name}` is {value!r}, not a mapping")


#: The values of an entry or a head whose file has no extra keys.
NO_VALUES: Final = ExtraValues()
