"""Reads the parts that fields of a backend file have in common: words, and mappings with a few fields."""

from __future__ import annotations

from collections.abc import Iterable

from opwright.dialects.field import Field
from opwright.source import codes
from opwright.source.diagnostic import Diagnostics, did_you_mean
from opwright.source.expect import check_unique_keys, expect_mapping, expect_string
from opwright.source.nodes import Node, did_you_mean_key

__all__ = ["read_fields", "read_word"]


def read_word(node: Node, what: str, words: Iterable[str], sink: Diagnostics) -> str:
    """A text that is one of some words; empty, with a diagnostic, for others."""
    scalar = expect_string(node, f"`{what}`", sink)
    if scalar is None:
        return ""
    names = list(words)
    if scalar.value in names:
        return scalar.value
    help = did_you_mean(scalar.value, names, "there are " + ", ".join([f"`{word}`" for word in names]))
    sink.error(codes.BACKEND_UNKNOWN_WORD, f"`{what}` cannot be `{scalar.value}`", scalar.span, help=help)
    return ""


def read_fields(node: Node, what: str, fields: tuple[Field, ...], sink: Diagnostics) -> dict[str, Node] | None:
    """The fields of a mapping that exist; None for other values. Unknown and missing ones go to the sink."""
    mapping = expect_mapping(node, f"`{what}`", sink)
    if mapping is None:
        return None
    check_unique_keys(mapping, sink)
    names = [field.name for field in fields]
    for key, _ in mapping.entries:
        if key.value not in names:
            message = f"unknown key `{key.value}` in `{what}`"
            sink.error(codes.BACKEND_UNKNOWN_KEY, message, key.span, help=did_you_mean_key(key, mapping, names))
    values = {key.value: value for key, value in mapping.entries if key.value in names}
    for field in fields:
        if field.is_required and field.name not in values:
            sink.error(codes.BACKEND_MISSING_KEY, f"`{what}` has no `{field.name}`", mapping.span)
    return values
