"""The entries of a file that a run needs, with what an earlier run kept of them in its state."""

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
    """A file with the rows of its entries by their texts, which hold in the context that is named, and its items.

    Where it `is_partial`, the items are only those that the run can reach.
    """

    __slots__ = ("context", "file", "is_partial", "items", "rows")

    def __init__(
        self, file: SourceFile, context: str, rows: Mapping[str, str], items: ChangedItems, *, is_partial: bool = False
    ) -> None:
        self.file: Final = file
        self.context: Final = context
        self.rows: Final = rows
        self.items: Final = items
        self.is_partial: Final = is_partial
