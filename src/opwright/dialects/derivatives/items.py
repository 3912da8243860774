"""What the items of `derivatives.yaml` are about, told from their texts, for runs that load few of them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

from opwright.model.derivatives import DEFAULT_KEY

__all__ = ["called_names", "keyed_operators", "operator_of"]

_OPERATOR: Final = re.compile(r"name: +([\w.]+)\(")
_DISPATCH: Final = "\n  dispatch:"
_KEY: Final = re.compile(r"\n    (\w+):")
_WORD: Final = re.compile(r"\w+")

_SYMBOLIC: Final = "_symint"
"""What the names of functions with symbolic sizes end with, where formulas call them."""


def operator_of(item: str) -> str | None:
    """The operator that an item is about; None if the item does not begin with its schema.

    >>> operator_of("name: sinh(Tensor self) -> Tensor\\n  self: grad * self.cosh()")
    'sinh'
    """
    match = _OPERATOR.match(item)
    return None if match is None else match[1]


def keyed_operators(items: Iterable[str]) -> Iterator[str]:
    """An operator for each dispatch key with derivatives: autograd's files have a section for each of these keys."""
    keys: set[str] = set()
    for item in items:
        new = set(_KEY.findall(item) if _DISPATCH in item else [DEFAULT_KEY]) - keys
        if new and (name := operator_of(item)) is not None:
            keys |= new
            yield name


def called_names(item: str) -> Iterator[str]:
    """The words of an item, whose formulas a run checks; some of them name operators."""
    for word in _WORD.findall(item):
        yield word.removesuffix(_SYMBOLIC)
