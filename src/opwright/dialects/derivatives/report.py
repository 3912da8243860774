"""Reports faults in `derivatives.yaml` at the spans of entries, fields and words of formulas."""

from __future__ import annotations

import re
from collections.abc import Sequence as Row
from typing import Final

from opwright.source.diagnostic import Diagnostics, Label, Suggestion
from opwright.source.nodes import Mapping, Scalar
from opwright.source.span import Span


class FormulaReport:
    """The sink of one formula's faults, which records whether there was any."""

    __slots__ = ("_scalar", "_sink", "failed")

    def __init__(self, scalar: Scalar, sink: Diagnostics) -> None:
        self._scalar: Final = scalar
        self._sink: Final = sink
        self.failed = False

    def error(self, code: str, message: str, part: str = "", *, label: str = "", help: str | Suggestion = "") -> None:
        """Reports a fault at the first occurrence of a part of the formula, or at all of it."""
        self.failed = True
        self._sink.error(code, message, part_span(self._scalar, part), label=label, help=help)


class EntryReport:
    """The sink of one entry's faults, which records whether there was any."""

    __slots__ = ("_is_strict", "_sink", "failed", "node")

    def __init__(self, node: Mapping, sink: Diagnostics, *, strict: bool = False) -> None:
        self.node: Final = node
        self._sink: Final = sink
        self._is_strict: Final = strict
        self.failed = False

    def error(
        self, code: str, message: str, at: Span, *, label: str = "", help: str | Suggestion = "", also: Row[Label] = ()
    ) -> None:
        """Reports a fault; the entry is then left out."""
        self.failed = True
        self._sink.error(code, message, at, label=label, help=help, also=also)

    def doubt(self, code: str, message: str, at: Span, *, help: str | Suggestion = "", also: Row[Label] = ()) -> None:
        """Reports what has no effect as a warning, or as an error in a strict run, and keeps the entry."""
        tell = self._sink.error if self._is_strict else self._sink.warning
        tell(code, message, at, help=help, also=also)

    def formula(self, scalar: Scalar) -> FormulaReport:
        """The sink for the faults of one formula."""
        return FormulaReport(scalar, self._sink)

    @property
    def sink(self) -> Diagnostics:
        """Where the faults go."""
        return self._sink


def part_span(scalar: Scalar, part: str) -> Span:
    """The span of a part of a scalar's value, preferably as a whole word; the whole scalar if it does not occur."""
    if not part:
        return scalar.span
    edge = r"\b" if part.isidentifier() else ""
    match = re.search(edge + re.escape(part) + edge, scalar.value)
    return scalar.span if match is None else scalar.span_of(match.start(), match.end())
