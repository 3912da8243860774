"""Inputs whose declarations of kernels compiled ahead of time are in a folder that the user names."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from opwright.release.store import NATIVE_AOT, Places, aot_names, possible_aot_files
from opwright.source.text import SourceFile

if TYPE_CHECKING:
    from collections.abc import Iterable

    from opwright.release.store import Store

__all__ = ["AotFolder"]


class AotFolder:
    """A store like another one, save that these declarations come from a folder, or from nowhere if it is empty."""

    __slots__ = ("_folder", "_store")

    def __init__(self, store: Store, folder: str) -> None:
        self._store = store
        self._folder = folder

    def display_path(self, name: str) -> str:
        """The path of the file, for declarations in the folder."""
        if name.startswith(NATIVE_AOT):
            return os.path.join(self._folder, *name[len(NATIVE_AOT) :].split("/"))
        return self._store.display_path(name)

    def read_text(self, name: str) -> SourceFile:
        """The input of that name, decoded."""
        if name.startswith(NATIVE_AOT):
            return SourceFile.read(self.display_path(name))
        return self._store.read_text(name)

    def read_bytes(self, name: str) -> bytes:
        """The input's bytes."""
        if name.startswith(NATIVE_AOT):
            return self.read_text(name).text.encode()
        return self._store.read_bytes(name)

    def names(self) -> tuple[str, ...]:
        """The names of the other inputs, and of the declarations in the folder."""
        others = (name for name in self._store.names() if not name.startswith(NATIVE_AOT))
        return tuple(sorted([*others, *(aot_names(self._folder) if self._folder else ())]))

    def read_members(self, paths: Iterable[str]) -> dict[str, bytes]:
        """Other files of the same PyTorch."""
        return self._store.read_members(paths)

    def member_names(self, prefix: str) -> tuple[str, ...]:
        """The paths of such files that begin with `prefix`."""
        return self._store.member_names(prefix)

    def places(self, members: Iterable[str] = ()) -> Places | None:
        """Where the inputs come from, with the folder."""
        places = self._store.places(members)
        if places is None or not self._folder:
            return places
        folder = os.path.abspath(self._folder)
        return Places((*places.files, *possible_aot_files(folder)), (*places.folders, folder))
