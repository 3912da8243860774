"""Reads the extra keys of an entry or a head: what plug-ins declare there."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from opwright.dialects.values import Releases
from opwright.model.extra_values import ExtraValue, ExtraValues
from opwright.plugins.extra_keys import ExtraKey, KeyPlace
from opwright.source import codes
from opwright.source.diagnostic import Diagnostics
from opwright.source.nodes import MappingNode, Node, Scalar, SequenceNode
from opwright.source.span import Span


class ExtraKeyReader:
    """Extra keys of one place: their names, their defaults, and the values of an entry or a head."""

    __slots__ = ("_keys", "defaults")

    def __init__(self, keys: Iterable[ExtraKey]) -> None:
        self._keys: Final = {key.name: key for key in keys}
        self.defaults: Final = ExtraValues({name: key.default for name, key in self._keys.items()})
        """What an entry has that gives none of them."""

    def __contains__(self, name: str) -> bool:
        return name in self._keys

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the keys."""
        return tuple(self._keys)

    def read(self, entries: Iterable[tuple[Scalar, Node]], at: Span, releases: Releases) -> ExtraValues | None:
        """Values of an entry or a head with these keys, among others; None, with diagnostics, if one has a fault.

        `at` is where the entry is. `releases` has the release whose values count, and the sink.
        """
        field_sink = Diagnostics()
        own_releases = releases._replace(sink=field_sink)
        given: dict[str, tuple[Scalar, Node]] = {}
        for key, value in entries:
            node = self._of_release(key.value, value, own_releases) if key.value in self._keys else None
            if node is not None:
                given[key.value] = key, node
        values: dict[str, ExtraValue] = {}
        for name, extra in self._keys.items():
            place = KeyPlace(name, extra, field_sink)
            if name in given:
                values[name] = extra.key_type.read(given[name][1], place)
            else:
                values[name] = extra.default
                if extra.is_required and not field_sink.has_errors:
                    place.fault(codes.PLUGIN_MISSING_KEY, f"the key `{name}` is missing", at)
        releases.sink.extend(field_sink)
        return None if field_sink.has_errors else ExtraValues(values, given)

    def _of_release(self, name: str, node: Node, releases: Releases) -> Node | None:
        """Value of a key in the release of the run."""
        if isinstance(node, SequenceNode):
            if self._keys[name].key_type.fits(node):
                has_releases = any(_has_releases(item) for item in node.items)
            else:
                has_releases = any(isinstance(item, MappingNode) for item in node.items)
            return releases.value(node, name) if has_releases else node
        return node


def _has_releases(node: Node) -> bool:
    """Whether an item of a list is the value for some releases, and not an item of the value."""
    if not isinstance(node, MappingNode):
        return False
    names = {key.value for key, _ in node.entries}
    return "value" in names and names <= {"value", "since", "until"} and len(names) > 1
