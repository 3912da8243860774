"""Operators that a vendor's file lists, for readers of such files."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final

from opwright.dialects.dialect import LoadContext
from opwright.model.library import PYTORCH
from opwright.plugins.built_nodes import NodeValue, node_at, part_of
from opwright.plugins.plugin_codes import NOT_TAKEN
from opwright.source.nodes import MappingNode, Node, Scalar, SequenceNode
from opwright.source.records import NamedTuple

_PREFIX: Final = f"{PYTORCH.namespace}::"


class ListedOperator(NamedTuple):
    """An operator of a list: its name, the text that begins with it, and the keys of its entry."""

    name: Scalar
    func: Scalar
    fields: MappingNode

    def entry(self, options: Mapping[str, NodeValue], namespace: str = "") -> MappingNode:
        """Entry of a backend file for the operator, at its place.

        One of another library than PyTorch has its namespace, and the schema that stands in the list.
        """
        if not namespace:
            return node_at(self.name, {self.name.value: {**options}})
        return node_at(self.name, {f"{namespace}::{self.name.value}": {"func": self.func, **options}})


def listed_operators(node: Node | None, key: str = "func") -> Iterator[ListedOperator]:
    """Operators of a list whose items are texts, or entries with a key that names them; others are left out.

    A text is a name or a schema, and may begin with `aten::`. A mapping has the entries of operators by their names.
    What is neither has no operators.

    >>> from opwright.source.text import SourceFile
    >>> from opwright.source.yaml import load_yaml
    >>> text = "- abs\\n- func: add.Tensor(Tensor self) -> Tensor\\n  fast: true\\n"
    >>> found = list(listed_operators(load_yaml(SourceFile("acme.yaml", text))))
    >>> [(operator.name.value, [key.value for key, _ in operator.fields]) for operator in found]
    [('abs', []), ('add.Tensor', ['func', 'fast'])]
    """
    for func, item in _texts(node, key):
        fields = item if isinstance(item, MappingNode) else MappingNode(func.file, func.start, func.end, [])
        start = len(_PREFIX) if func.value.startswith(_PREFIX) else 0
        yield ListedOperator(part_of(func, start, len(func.value.partition("(")[0])), func, fields)


def _texts(node: Node | None, key: str) -> Iterator[tuple[Scalar, Node]]:
    """Texts that name operators, each with its entry."""
    if isinstance(node, MappingNode):
        yield from node.entries
    for item in node.items if isinstance(node, SequenceNode) else ():
        func = item.get(key) if isinstance(item, MappingNode) else item
        if isinstance(func, Scalar):
            yield func, item


def known_operators(
    operators: Iterable[ListedOperator],
    context: LoadContext,
    reason: Callable[[ListedOperator], str] = lambda _: "",
) -> Iterator[ListedOperator]:
    """Operators that PyTorch has in the release of the run, each once; a note says why others are left out.

    `reason` gives why an operator is left out for what its entry says; empty if it is not.
    """
    taken: set[str] = set()
    missing: set[str] = set()
    for operator in operators:
        name = operator.name.value
        if name not in context.operators:
            why = "" if name in missing else "is no operator of this release"
            missing.add(name)
        else:
            why = reason(operator) or ("has an entry above" if name in taken else "")
        if why:
            leave_out(operator.name, why, context)
        elif name not in missing:
            taken.add(name)
            yield operator


def leave_out(name: Scalar, reason: str, context: LoadContext) -> None:
    """Note at the name of an operator that its entry is left out, for a reason such as `has no kernel`."""
    context.sink.note(NOT_TAKEN, f"`{name.value}` {reason}", name.span)
