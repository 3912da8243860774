"""The entries that an earlier run kept, as this run takes them from its state."""

from __future__ import annotations

# A run makes this before it imports what loads entries.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Final

    from opwright.source.items import ChangedItems
    from opwright.source.text import SourceFile

__all__ = ["KnownEntries"]


class KnownEntries:
    """A file with the rows of its entries by their texts, which hold in the context that is named, and its items."""

    __slots__ = ("context", "file", "items", "rows")

    def __init__(self, file: SourceFile, context: str, rows: Mapping[str, str], items: ChangedItems) -> None:
        self.file: Final = file
        self.context: Final = context
        self.rows: Final = rows
        self.items: Final = items
