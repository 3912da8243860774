"""Diagnostic codes about comparisons, and checks beyond the reference."""

from __future__ import annotations

# Programs import this before they know whether there is anything to do.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

NO_PYTHON_MODULES: Final = "W1373"

BAD_DUMP: Final = "E2101"
NO_DATA: Final = "E2102"
NO_SIDE: Final = "E2103"
NOT_GENERATED: Final = "E2104"
GENERATOR_FAILED: Final = "E2105"
NO_GENERATOR: Final = "E2106"

UNKNOWN_DIALECT: Final = "E2201"
SETTINGS_SYNTAX: Final = "E2202"
WRONG_SETTING: Final = "E2203"
UNKNOWN_CODE: Final = "E2204"
UNKNOWN_SUPPRESSION: Final = "W2205"
UNUSED_SUPPRESSION: Final = "W2206"
CPP_KEYWORD: Final = "W2211"
GRADIENT_TAKEN_AWAY: Final = "W2212"
BACKWARD_LACKS: Final = "W2213"
MISSING_META: Final = "W2214"
UNUSED_TAG: Final = "W2215"
REPEATS_DEFAULT: Final = "W2216"
SUSPICIOUS_ALIAS: Final = "W2217"
ONLY_WRITES: Final = "W2218"
REPEATED_ITEM: Final = "W2219"
NOT_NORMAL: Final = "W2220"
NOT_LAID_OUT: Final = "W2221"
