"""What the generated table of upgraders leaves out, although PyTorch has bytecode for it."""

from __future__ import annotations

from typing import Final

from opwright.release.operator_names.upgraders import NOT_UPGRADED

__all__ = ["LEFT_OUT_UPGRADERS", "is_left_out"]

#: The upgraders that take no place in the table. PyTorch keeps `full_names_0_4`, although no operator refers to it.
LEFT_OUT_UPGRADERS: Final = frozenset(("full_0_4", "full_out_0_4"))


def is_left_out(operator: str) -> bool:
    """Whether the table has no upgraders for an operator, named with its namespace.

    >>> is_left_out("aten::full.out"), is_left_out("aten::gelu")
    (True, False)
    """
    namespace, _, name = operator.partition("::")
    return namespace == "aten" and name in NOT_UPGRADED.in_any_release
