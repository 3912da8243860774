"""Python bindings with plain integers in place of symbolic ones, which PyTorch's generator still offers."""

from __future__ import annotations

from typing import Final

_PLAIN: Final = (("SymIntArrayRef", "IntArrayRef"), ("toSymInt", "toInt64"), ("symintlist", "intlist"))
_PLAIN_TYPES: Final = (
    ("c10::SymIntArrayRef", "at::IntArrayRef"),
    ("at::OptionalSymIntArrayRef", "at::OptionalIntArrayRef"),
    ("c10::SymInt", "int64_t"),
)


def with_plain_integers(text: str) -> str:
    """A type or an expression with plain integers instead of symbolic ones in lists and readers.

    >>> with_plain_integers("SymIntArrayRef[2]"), with_plain_integers("toSymInt"), with_plain_integers("SymInt")
    ('IntArrayRef[2]', 'toInt64', 'SymInt')
    """
    for symbolic, plain in _PLAIN:
        text = text.replace(symbolic, plain)
    return text


def with_plain_types(parameter: str) -> str:
    """A parameter of a lambda with plain integers instead of symbolic ones.

    >>> with_plain_types("c10::SymIntArrayRef size"), with_plain_types("::std::optional<c10::SymInt> n")
    ('at::IntArrayRef size', '::std::optional<int64_t> n')
    """
    for symbolic, plain in _PLAIN_TYPES:
        parameter = parameter.replace(symbolic, plain)
    return parameter
