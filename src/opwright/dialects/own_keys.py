"""The names of Opwright's own keys at the places where plug-ins can declare more."""

from __future__ import annotations

from opwright.dialects.backend.entry_fields import ENTRY_FIELDS as BACKEND_ENTRY_FIELDS
from opwright.dialects.backend.head_fields import HEAD_FIELDS
from opwright.dialects.extra_places import BACKEND_ENTRY, BACKEND_HEAD, LIBRARY_ENTRY, NATIVE_FUNCTION
from opwright.dialects.library.fields import LIBRARY_FIELDS
from opwright.dialects.native_functions.fields import ENTRY_FIELDS

__all__ = ["own_keys"]


def own_keys(where: str) -> frozenset[str]:
    """The names of Opwright's own keys at a place.

    >>> "structured" in own_keys("backend entry"), "structured" in own_keys("backend head")
    (True, False)
    """
    fields = {
        BACKEND_HEAD: HEAD_FIELDS,
        BACKEND_ENTRY: BACKEND_ENTRY_FIELDS,
        LIBRARY_ENTRY: (*ENTRY_FIELDS, *LIBRARY_FIELDS),
        NATIVE_FUNCTION: ENTRY_FIELDS,
    }
    return frozenset([field.name for field in fields[where]])
