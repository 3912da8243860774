"""Operators that the tables of upgraders leave out."""

from __future__ import annotations

from typing import Final

from opwright.release.name_table import Names, NameTable

__all__ = ["NOT_UPGRADED"]

NOT_UPGRADED: Final = NameTable(
    "Operators whose upgraders are left out.",
    Names("full full.out", "PyTorch waits for a change of their schemas."),
    Names("full.names", "PyTorch waits for a change of its schema.", until="2.13"),
    form="overload",
)
