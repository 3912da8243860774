"""The head of a library file: what it says once for all its entries."""

from __future__ import annotations

from collections.abc import Sequence as Row
from typing import Final, NamedTuple

from opwright.dialects.library import codes
from opwright.source.diagnostic import Diagnostics, Fault, did_you_mean
from opwright.source.expect import check_unique_keys
from opwright.source.nodes import Mapping, Node, Scalar, Sequence
from opwright.source.span import Span

__all__ = ["Head", "read_head"]


class Head(NamedTuple):
    """The head of a library file. A file that is a list of entries has none, and its entries name their namespaces."""

    namespace: str = ""
    cpp_namespace: str = ""
    python_package: str = ""
    includes: tuple[str, ...] = ()
    derivatives: str = ""
    derivatives_span: Span | None = None
    derivative_includes: tuple[str, ...] = ()


_OPERATORS: Final = "operators"
_TEXTS: Final = ("namespace", "cpp_namespace", "python_package", "derivatives")
_LISTS: Final = ("includes", "derivative_includes")
_KEYS: Final = (*_TEXTS, *_LISTS, _OPERATORS)


def read_head(root: Node, sink: Diagnostics) -> tuple[Head, Row[Node]]:
    """The head and the entries of a file. Raises Fault if the file is neither a list of entries nor a mapping."""
    if isinstance(root, Sequence):
        return Head(), root.items
    if not isinstance(root, Mapping):
        message = f"the file is {root.description}, not a list of entries or a mapping with `{_OPERATORS}`"
        raise Fault.at(codes.FILE_SHAPE, message, root.span)
    check_unique_keys(root, sink)
    texts: dict[str, str] = {}
    spans: dict[str, Span] = {}
    lists: dict[str, tuple[str, ...]] = {}
    items: Row[Node] = ()
    for key, value in root.entries:
        if key.value in _TEXTS and isinstance(value, Scalar):
            texts[key.value] = value.value
            spans[key.value] = value.span
        elif key.value in _LISTS and isinstance(value, Sequence):
            lists[key.value] = tuple([item.value for item in value.items if isinstance(item, Scalar)])
        elif key.value == _OPERATORS and isinstance(value, Sequence):
            items = value.items
        else:
            sink.error(codes.HEAD_KEY, f"unknown key `{key.value}`", key.span, help=did_you_mean(key.value, _KEYS))
    head = Head(
        texts.get("namespace", ""),
        texts.get("cpp_namespace", ""),
        texts.get("python_package", ""),
        lists.get("includes", ()),
        texts.get("derivatives", ""),
        spans.get("derivatives"),
        lists.get("derivative_includes", ()),
    )
    return head, items
