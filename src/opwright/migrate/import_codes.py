"""Diagnostic codes about imports of libraries that exist."""

from __future__ import annotations

# Programs import this before they know whether there is anything to do.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

NO_REGISTRATIONS: Final = "E2401"
UNKNOWN_MACRO: Final = "E2403"
TWO_INTERFACES: Final = "E2404"
MODULE_NOT_READ: Final = "E2405"
NO_CPP_SOURCES: Final = "E2406"
CALLS_NOT_READ: Final = "E2407"
