"""YAML nodes that are built from others; diagnostics about them point to those."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias, overload

from opwright.source.nodes import MappingNode, Node, Scalar, SequenceNode

NodeValue: TypeAlias = "Node | str | bool | int | Sequence[NodeValue] | Mapping[str, NodeValue] | None"
"""What a node is built from: a plain value, or a node that stays as it is."""


@overload
def node_at(place: Node, value: Mapping[str, NodeValue]) -> MappingNode: ...


@overload
def node_at(place: Node, value: NodeValue) -> Node: ...


def node_at(place: Node, value: NodeValue | Mapping[str, NodeValue]) -> Node:
    """A node with a value, whose span is that of another node. Nodes inside the value stay as they are.

    >>> from opwright.source.text import SourceFile
    >>> from opwright.source.yaml import load_yaml
    >>> entry = load_yaml(SourceFile("acme.yaml", "add: [a, b]"))
    >>> built = node_at(entry, {"kernel": "acme::add", "names": entry.get("add")})
    >>> built.python_value(), built.get("kernel").span.text
    ({'kernel': 'acme::add', 'names': ['a', 'b']}, 'add: [a, b]')
    """
    if isinstance(value, (Scalar, SequenceNode, MappingNode)):
        return value
    if value is None or isinstance(value, (str, int)):
        return _scalar(place, value)
    file, start, end = place.file, place.start, place.end
    if isinstance(value, Mapping):
        return MappingNode(
            file, start, end, [(_scalar(place, key), node_at(place, item)) for key, item in value.items()]
        )
    return SequenceNode(file, start, end, [node_at(place, item) for item in value])


def _scalar(place: Node, value: str | bool | int | None) -> Scalar:
    if isinstance(value, str):
        text, kind = value, "str"
    elif isinstance(value, bool):
        text, kind = str(value).lower(), "bool"
    elif value is None:
        text, kind = "", "null"
    else:
        text, kind = str(value), "int"
    return Scalar(place.file, place.start, place.end, text, kind=kind)


def part_of(scalar: Scalar, start: int, end: int) -> Scalar:
    """A part of the value of a scalar as a text of its own, with the span of that part.

    >>> from opwright.source.text import SourceFile
    >>> from opwright.source.yaml import load_yaml
    >>> part = part_of(load_yaml(SourceFile("acme.yaml", "'add.Tensor(Tensor self)'")), 0, 10)
    >>> part.value, part.span.text
    ('add.Tensor', 'add.Tensor')
    """
    span = scalar.span_of(start, end)
    return Scalar(scalar.file, span.start, span.end, scalar.value[start:end], kind="str")


def texts_of(node: Node | None) -> list[str]:
    """Texts of the scalars in a list; of a scalar alone, its text."""
    items = node.items if isinstance(node, SequenceNode) else [node]
    return [item.value for item in items if isinstance(item, Scalar)]


def with_entries(mapping: MappingNode, values: Mapping[str, NodeValue]) -> MappingNode:
    """Mapping with these values: in place of those that it has under the same keys, and after them.

    New keys, and new plain values, have the span of the mapping's first key.

    >>> from opwright.source.text import SourceFile
    >>> from opwright.source.yaml import load_yaml
    >>> with_entries(load_yaml(SourceFile("a.yaml", "a: 1\\nb: 2")), {"b": "x", "c": True}).python_value()
    {'a': 1, 'b': 'x', 'c': True}
    """
    place = mapping.entries[0][0] if mapping.entries else mapping
    entries = [
        (key, node_at(value, values[key.value]) if key.value in values else value) for key, value in mapping.entries
    ]
    present_keys = {key.value for key, _ in mapping.entries}
    entries += [
        (_scalar(place, key), node_at(place, value)) for key, value in values.items() if key not in present_keys
    ]
    return mapping.replace(entries=entries)


def without_entries(mapping: MappingNode, leaves_out: Callable[[str], bool]) -> MappingNode:
    """A mapping without the keys for which the function is true."""
    entries = [(key, value) for key, value in mapping.entries if not leaves_out(key.value)]
    return mapping.replace(entries=entries)
