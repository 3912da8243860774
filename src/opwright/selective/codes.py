"""The codes of mistakes in the inputs of selective builds: E18xx."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

# Programs that take some milliseconds name these codes; their pages are in a module that only a report needs.
FIELDS_MISSING: Final = "E1802"
FIELD_WITHOUT_EFFECT: Final = "W1803"
VERSION_MISSING: Final = "E1804"
ALL_OVERLOADS: Final = "E1805"
OPERATOR_REPEATED: Final = "E1806"
LIST_WRONG: Final = "E1807"
DTYPE_UNKNOWN: Final = "E1808"
OPERATORS_UNREADABLE: Final = "E1809"
PRIM_OPS_MISSING: Final = "E1810"
MODEL_DAMAGED: Final = "E1811"
TWO_PRIM_OPS: Final = "E1812"
NOT_IN_GRAPH: Final = "W1813"
DEBUG_INFO_WRONG: Final = "E1814"
HEADER_MISSING: Final = "W1815"
NOT_AN_ENTRY: Final = "E1816"
NOTHING_SELECTED: Final = "W1817"
NOT_KEPT: Final = "E1818"
