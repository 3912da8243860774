"""Read values of the expected types from YAML nodes, and report others.

Each function takes the node, a few words that name the value for messages (`"`tags`"`, `"an entry"`), and the sink. It
returns the value, or reports E0112 and returns None, so that a loader can continue with the next field.
"""

from __future__ import annotations

from opwright.source.codes import KEY_REPEATED, WRONG_SHAPE
from opwright.source.diagnostic import Diagnostics, Label, shorten
from opwright.source.nodes import MappingNode, Node, Scalar, SequenceNode


def expect_mapping(node: Node, what: str, sink: Diagnostics) -> MappingNode | None:
    """Node, if it is a mapping.

    >>> from opwright.source.text import SourceFile
    >>> from opwright.source.yaml import load_yaml
    >>> sink = Diagnostics()
    >>> expect_mapping(load_yaml(SourceFile("ops.yaml", "- a")), "the file", sink)
    >>> [diagnostic.message for diagnostic in sink]
    ['the file: expected a mapping, found a list']
    """
    if isinstance(node, MappingNode):
        return node
    _report(node, what, "a mapping", sink)
    return None


def expect_sequence(node: Node, what: str, sink: Diagnostics) -> SequenceNode | None:
    """Node, if it is a list."""
    if isinstance(node, SequenceNode):
        return node
    _report(node, what, "a list", sink)
    return None


def expect_string(node: Node, what: str, sink: Diagnostics) -> Scalar | None:
    """Node, if it is a scalar that YAML reads as text; its `value` is the text."""
    if isinstance(node, Scalar) and node.kind == "str":
        return node
    _report(node, what, "a string", sink)
    return None


def expect_strings(node: Node, what: str, sink: Diagnostics) -> list[Scalar] | None:
    """Items of a list of strings; a single string counts as a list of one."""
    if isinstance(node, Scalar) and node.kind == "str":
        return [node]
    if not isinstance(node, SequenceNode):
        _report(node, what, "a string or a list of strings", sink)
        return None
    strings = [expect_string(item, what, sink) for item in node.items]
    scalars = [string for string in strings if string is not None]
    return scalars if len(scalars) == len(strings) else None


def expect_boolean(node: Node, what: str, sink: Diagnostics) -> bool | None:
    """Value of a boolean, by YAML 1.1: `True`, `yes`, `on` and their like."""
    if isinstance(node, Scalar) and node.kind == "bool":
        return bool(node.python_value())
    _report(node, what, "a boolean", sink)
    return None


def expect_integer(node: Node, what: str, sink: Diagnostics) -> int | None:
    """Value of an integer."""
    if isinstance(node, Scalar) and node.kind == "int":
        value = node.python_value()
        if isinstance(value, int):
            return value
    _report(node, what, "an integer", sink)
    return None


def check_unique_keys(mapping: MappingNode, sink: Diagnostics) -> None:
    """Report each key that repeats an earlier key of the mapping (E0107)."""
    for first, again in mapping.duplicate_keys():
        sink.error(
            KEY_REPEATED,
            f"the key `{shorten(again.value)}` is repeated",
            again.span,
            label="repeated",
            also=[Label(first.span, "first here", primary=False)],
        )


def _report(node: Node, what: str, wanted: str, sink: Diagnostics) -> None:
    hint = ""
    if isinstance(node, Scalar) and wanted.startswith("a string") and node.kind not in ("str", "null"):
        hint = f'write `"{shorten(node.value)}"` with quotes if it is text'
    sink.error(
        WRONG_SHAPE,
        f"{what}: expected {wanted}, found {node.description}",
        node.span,
        label=f"expected {wanted}",
        help=hint,
    )
