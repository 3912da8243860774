"""Lints of how entries are written: fields that repeat defaults, and items that repeat each other."""

from __future__ import annotations

import re
from typing import Final

from opwright.check.lint import Operators
from opwright.model.native_function import NativeFunction
from opwright.source import codes
from opwright.source.diagnostic import Diagnostics, Edit, Label
from opwright.source.node_edits import deleted_field, deleted_item
from opwright.source.nodes import Node, Scalar, Sequence
from opwright.source.span import Span

__all__ = ["check_defaults", "check_repeated_items"]

#: Fields with the values that they have by default.
_DEFAULTS: Final[dict[str, object]] = {
    "variants": "function",
    "device_guard": True,
    "device_check": "ExactSame",
    "structured": False,
    "manual_cpp_binding": False,
    "manual_kernel_registration": False,
    "use_const_ref_for_mutable_tensors": False,
    "tags": [],
    "cpp_no_default_args": [],
}
_DEFAULT_TEXT: Final = re.compile(
    rf"\b(?:{'|'.join(_DEFAULTS)})[\"']?:\s*(?:function|ExactSame|[Tt]rue|TRUE|[Ff]alse|FALSE|yes|no|on|off|\[\s*\])"
)

#: Fields that are lists of names, which may be written as one text with commas.
_LISTS: Final = ("tags", "autogen", "variants", "cpp_no_default_args")
_LIST_TEXT: Final = re.compile(rf"\b(?:{'|'.join(_LISTS)})[\"']?:([^:]*?(?=\n\s*[\w\"']+:|\Z))")
_COMMENT: Final = re.compile(r"#[^\n]*")
_WORD: Final = re.compile(r"[\w.]+")


def check_defaults(operators: Operators, sink: Diagnostics) -> None:
    """Report fields with the values that they have by default (W2216)."""
    for function in operators.functions:
        node = operators.nodes.node(function) if _DEFAULT_TEXT.search(function.entry.text) else None
        if node is None:
            continue
        for key, value in node.entries:
            if key.value in _DEFAULTS and _python_value(value) == _DEFAULTS[key.value]:
                message = f"`{key.value}: {value.span.text}` is the default"
                edits = deleted_field(node, key)
                sink.warning(codes.REPEATS_DEFAULT, message, key.span, help=f"delete `{key.value}`", edits=edits)


def _python_value(node: Node) -> object:
    if isinstance(node, Scalar):
        return node.python_value() if node.kind == "bool" else node.value
    return [] if isinstance(node, Sequence) and not node.items else None


def check_repeated_items(operators: Operators, sink: Diagnostics) -> None:
    """Report items that a list of an entry has twice (W2219)."""
    for function in operators.functions:
        if _may_repeat(function):
            node = operators.nodes.node(function)
            for field in _LISTS:
                value = None if node is None else node.get(field)
                if isinstance(value, Sequence):
                    _check_sequence(value, field, sink)
                elif isinstance(value, Scalar):
                    _check_words(value, field, sink)


def _may_repeat(function: NativeFunction) -> bool:
    """Whether a word occurs twice in a list of the entry, by its text alone."""
    for match in _LIST_TEXT.finditer(function.entry.text):
        words = _WORD.findall(_COMMENT.sub("", match[1]))
        if len(words) != len(set(words)):
            return True
    return False


def _check_sequence(value: Sequence, field: str, sink: Diagnostics) -> None:
    first: dict[str, Scalar] = {}
    for item in value.items:
        if isinstance(item, Scalar) and first.setdefault(item.value, item) is not item:
            _report(
                f"`{field}` has `{item.value}` twice",
                item.span,
                first[item.value].span,
                sink,
                deleted_item(value, item),
            )


def _check_words(value: Scalar, field: str, sink: Diagnostics) -> None:
    first: dict[str, Span] = {}
    end = 0
    for match in _WORD.finditer(value.value):
        span = value.span_of(match.start(), match.end())
        if first.setdefault(match[0], span) is not span:
            before = value.span_of(end, match.end())
            _report(f"`{field}` has `{match[0]}` twice", span, first[match[0]], sink, (Edit(before, ""),))
        end = match.end()


def _report(message: str, span: Span, first: Span, sink: Diagnostics, edits: tuple[Edit, ...]) -> None:
    also = [Label(first, "first here", primary=False)]
    sink.warning(codes.REPEATED_ITEM, message, span, label="repeated", also=also, edits=edits)
