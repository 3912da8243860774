"""The operators of declared outputs that C++ and Python write alike."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from opwright.model.declared_outputs import OutputOperation

__all__ = ["SHARED_OPERATORS"]

#: Operation -> its text, with the texts of the operands in place of `{0}` and `{1}`.
SHARED_OPERATORS: Final[Mapping[OutputOperation, str]] = {
    OutputOperation.add: "({0} + {1})",
    OutputOperation.subtract: "({0} - {1})",
    OutputOperation.multiply: "({0} * {1})",
    OutputOperation.negate: "(-{0})",
    OutputOperation.equal: "({0} == {1})",
    OutputOperation.unequal: "({0} != {1})",
    OutputOperation.less: "({0} < {1})",
    OutputOperation.less_equal: "({0} <= {1})",
    OutputOperation.greater: "({0} > {1})",
    OutputOperation.greater_equal: "({0} >= {1})",
}
