"""What the items of `deprecated.yaml` are about, told from their texts, for runs that load few of them."""

from __future__ import annotations

import re
from typing import Final

__all__ = ["operator_of"]

_CALLED: Final = re.compile(r"name: .*\n  aten: (\w+?)(?:_out)?\(")


def operator_of(item: str) -> str | None:
    """The operator that an item calls, told from its text; None if the item does not begin in the usual way.

    >>> operator_of("name: add(Tensor self, Scalar alpha, Tensor other) -> Tensor\\n  aten: add(self, other, alpha)")
    'add'
    """
    match = _CALLED.match(item)
    return None if match is None else match[1]
