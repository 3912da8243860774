"""The places of input files where plug-ins can declare extra keys."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

__all__ = ["BACKEND_ENTRY", "BACKEND_HEAD", "LIBRARY_ENTRY", "NATIVE_FUNCTION", "PLACES"]

BACKEND_ENTRY: Final = "backend entry"
BACKEND_HEAD: Final = "backend head"
LIBRARY_ENTRY: Final = "library entry"
NATIVE_FUNCTION: Final = "native function"

PLACES: Final = (BACKEND_ENTRY, BACKEND_HEAD, LIBRARY_ENTRY, NATIVE_FUNCTION)
