"""Which operators operators call, and what a build needs that calls some of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, TypeAlias

Graph: TypeAlias = Mapping[str, set[str]]
"""The operators that each operator may call, by names without overloads."""

#: The node of a graph whose operators every build needs.
ALWAYS: Final = "__BASE__"
#: The node whose operators C++ code may call; training needs them.
FOR_TRAINING: Final = "__ROOT__"


def base_name(name: str) -> str:
    """Name of an operator without its overload.

    >>> base_name("aten::add.Tensor")
    'aten::add'
    """
    return name.partition(".")[0]


def graph_of(entries: object) -> Graph:
    """Graph that the values of a YAML file describe; entries of one operator are united.

    >>> graph_of([{"name": "aten::add.out", "depends": [{"name": "aten::resize_"}]}, {"name": "aten::mul"}])
    {'aten::add': {'aten::resize_'}}
    """
    graph: dict[str, set[str]] = {}
    assert isinstance(entries, list)
    for entry in entries:
        for dependency in entry.get("depends", ()):
            graph.setdefault(base_name(entry["name"]), set()).add(base_name(dependency["name"]))
    return graph


def closure(graph: Graph, roots: Iterable[str], *, training: bool = False) -> dict[str, str]:
    """Operators that the roots need, themselves included, each with the one that needs it; nothing needs a root.

    The operator that needs another one is the nearest to a root, and of several the first by name.

    >>> closure({"a": {"b"}, "b": {"a", "c"}, "__BASE__": {"d"}}, ["a"])
    {'a': '', 'd': '__BASE__', 'b': 'a', 'c': 'b'}
    """
    needed_by = dict.fromkeys(sorted(set(roots)), "")
    level = [*([FOR_TRAINING] if training else []), ALWAYS, *needed_by]
    while level:
        reached: list[str] = []
        for name in sorted(level):
            for dependency in sorted(graph.get(name, ())):
                if dependency not in needed_by:
                    needed_by[dependency] = name
                    reached.append(dependency)
        level = reached
    return needed_by
