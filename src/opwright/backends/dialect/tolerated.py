"""What PyTorch's generator makes of values that should be others, for runs that let pass what it lets pass.

It takes some values for others without a word: the letters of a text for a list, a number for the name of a class. The
functions here put those in their place, each with a warning, so that the other modules see well-formed files.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from opwright.backends import backend_codes
from opwright.source.diagnostic import Diagnostics
from opwright.source.lazy import lazy_pattern
from opwright.source.nodes import MappingNode, Node, Scalar, SequenceNode

_MERGE: Final = lazy_pattern(r"(?m)^[ \t-]*(<<)[ \t]*:")


def read_as_generator(root: MappingNode, sink: Diagnostics) -> MappingNode:
    """File as PyTorch's generator reads it. What it accepts by accident goes to `sink` as warnings.

    It takes no merge keys, which are errors.
    """
    for match in _MERGE.finditer(root.file.text):
        message = "PyTorch's generator takes no merge keys"
        sink.error(backend_codes.MERGED, message, root.file.span(*match.span(1)), help="write the merged keys out")
    rules: dict[str, _Reader] = {"class_name": _class_name, "full_codegen": _letters}
    if not has_operators(root):
        rules |= {"backend": _ignored_text, "cpp_namespace": _ignored_text}
    entries = []
    for key, value in root.entries:
        read = rules.get(key.value)
        entries.append((key, value if read is None else read(value, sink)))
    return root.replace(entries=entries)


def has_operators(root: MappingNode) -> bool:
    """Whether a file names operators for the backend's dispatch key, without which nothing is written."""
    return any(_has_items(root.get(name)) for name in ("supported", "full_codegen"))


def _has_items(node: Node | None) -> bool:
    return bool(node.value) if isinstance(node, Scalar) else node is not None and len(node) > 0


_Reader = Callable[[Node, Diagnostics], Node]


def _class_name(node: Node, sink: Diagnostics) -> Node:
    # It writes a list in two ways, so the other rules refuse it.
    if isinstance(node, SequenceNode) or (isinstance(node, Scalar) and node.kind in ("str", "null")):
        return node
    value = str(node.python_value())
    message = f"`class_name` is {node.description}, which PyTorch's generator writes as `{value}`"
    sink.warning(backend_codes.TAKEN_VALUE, message, node.span)
    return _text(node, value)


def _letters(node: Node, sink: Diagnostics) -> Node:
    """A text as the list of its letters, a mapping as the list of its keys."""
    items: list[Node]
    if isinstance(node, MappingNode):
        items, taken = [key for key, _ in node.entries], "its keys"
    elif isinstance(node, Scalar) and node.kind == "str":
        letters = range(len(node.value))
        items, taken = [_letter(node, place) for place in letters], "its letters"
    else:
        return node
    message = f"`full_codegen` is {node.description}, and PyTorch's generator takes {taken} for operators"
    sink.warning(backend_codes.TAKEN_VALUE, message, node.span, help="write a list")
    return SequenceNode(node.file, node.start, node.end, items)


def _letter(node: Scalar, place: int) -> Scalar:
    span = node.span_of(place, place + 1)
    return Scalar(node.file, span.start, span.end, node.value[place], kind="str")


def _ignored_text(node: Node, sink: Diagnostics) -> Node:
    """A text in place of a value that nothing reads; only nothing at all is missed."""
    if isinstance(node, Scalar) and node.kind in ("str", "null"):
        return node
    sink.warning(
        backend_codes.TAKEN_VALUE, f"{node.description}, not a text; nothing reads it without operators", node.span
    )
    return _text(node, str(node.python_value()))


def _text(node: Node, value: str) -> Scalar:
    return Scalar(node.file, node.start, node.end, value, kind="str")
