"""The operators that a vendor's own file lists, for readers of such files."""

from __future__ import annotations

from collections.abc import Iterator

from opwright.source.named_tuple import NamedTuple
from opwright.source.nodes import Mapping, Node, Scalar, Sequence, part_of

__all__ = ["ListedOperator", "listed_operators"]


class ListedOperator(NamedTuple):
    """An operator of a list: its name, the text that begins with it, and the keys of its entry."""

    name: Scalar
    func: Scalar
    fields: Mapping


def listed_operators(node: Node | None) -> Iterator[ListedOperator]:
    """The operators of a list whose items are texts, or entries with the key `func`; others are left out.

    A text is a name or a schema. What is no list has no operators.

    >>> from opwright.source.text import SourceFile
    >>> from opwright.source.yaml import load_yaml
    >>> text = "- abs\\n- func: add.Tensor(Tensor self) -> Tensor\\n  fast: true\\n"
    >>> found = list(listed_operators(load_yaml(SourceFile("acme.yaml", text))))
    >>> [(operator.name.value, [key.value for key, _ in operator.fields]) for operator in found]
    [('abs', []), ('add.Tensor', ['func', 'fast'])]
    """
    for item in node.items if isinstance(node, Sequence) else ():
        fields = item if isinstance(item, Mapping) else Mapping(item.file, item.start, item.end, [])
        func = fields.get("func") if isinstance(item, Mapping) else item
        if isinstance(func, Scalar):
            yield ListedOperator(part_of(func, 0, len(func.value.partition("(")[0])), func, fields)
