"""Inputs that note which of them a run reads."""

from __future__ import annotations

from typing import TYPE_CHECKING

from opwright.release.view import Inputs

if TYPE_CHECKING:
    from collections.abc import Iterable

    from opwright.source.text import SourceFile

__all__ = ["RecordedInputs"]


class RecordedInputs(Inputs):
    """A view of other inputs whose `reads` are the names of the inputs that were asked for, also of missing ones."""

    __slots__ = ("reads",)

    def __init__(self, inputs: Inputs) -> None:
        super().__init__(inputs._store, inputs.origin, inputs.version_text)
        self.reads: set[str] = set()

    def read_text(self, relative_path: str) -> SourceFile:
        """An input by its name, which is noted."""
        self.reads.add(relative_path)
        return super().read_text(relative_path)

    def read_member(self, path: str) -> bytes:
        """Another file by its path in the wheel, which is noted."""
        return self.read_members([path])[path]

    def read_members(self, paths: Iterable[str]) -> dict[str, bytes]:
        """Several such files, which are noted."""
        names = list(paths)
        self.reads.update(names)
        return super().read_members(names)
