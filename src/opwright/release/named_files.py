"""Inputs with a separate path for each YAML file, as PyTorch's build passes them to its programs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from opwright.release.store import FolderStore

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["FilesStore"]


class FilesStore(FolderStore):
    """Inputs in two folders, except those with a path of their own: `files` maps names to paths."""

    __slots__ = ("_files",)

    def __init__(self, aten: str, autograd: str, root: str | None, files: Mapping[str, str]) -> None:
        super().__init__(aten, autograd, root)
        self._files = files

    def display_path(self, name: str) -> str:
        """The file's path on disk."""
        return self._files.get(name) or super().display_path(name)
