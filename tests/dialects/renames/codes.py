"""The codes of mistakes in `renames.yaml`."""

from __future__ import annotations

from opwright.source.codes import Code, register

UNKNOWN_OPERATOR = register(Code("E9950", "renamed to an unknown operator", "    The catalog has no such operator."))
