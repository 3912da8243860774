"""Lints of backends: what their kernels do to gradients."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from opwright.source import codes

if TYPE_CHECKING:
    from opwright.coverage.records import OperatorRecord
from opwright.source.diagnostic import Diagnostics

__all__ = ["check_backward", "check_composites"]


def check_composites(records: Iterable[OperatorRecord], sink: Diagnostics) -> None:
    """Report kernels that take the gradients of composite operators away (W2212)."""
    _report(records, "composite_override", codes.GRADIENT_TAKEN_AWAY, sink)


def check_backward(records: Iterable[OperatorRecord], sink: Diagnostics) -> None:
    """Report operators whose backward formulas need operators that the backend lacks (W2213)."""
    _report(records, "backward", codes.BACKWARD_LACKS, sink)


def _report(records: Iterable[OperatorRecord], kind: str, code: str, sink: Diagnostics) -> None:
    for record in records:
        for trap in record.traps:
            if trap.kind.name == kind:
                sink.warning(code, trap.message, trap.span, help=trap.help)
