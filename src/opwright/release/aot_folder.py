"""Inputs that take the declarations of ahead-of-time compiled kernels from a folder."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from opwright.release.store import NATIVE_AOT, InputPaths, aot_names, possible_aot_files
from opwright.source.text import SourceFile

if TYPE_CHECKING:
    from collections.abc import Iterable

    from opwright.release.store import Store


class AotFolder:
    """A store like another one, but with the declarations in a folder, or none if the folder's name is empty."""

    __slots__ = ("_folder", "_store")

    def __init__(self, store: Store, folder: str) -> None:
        self._store = store
        self._folder = folder

    def display_path(self, name: str) -> str:
        """The path of the file."""
        if name.startswith(NATIVE_AOT):
            return os.path.join(self._folder, *name[len(NATIVE_AOT) :].split("/"))
        return self._store.display_path(name)

    def read_text(self, name: str) -> SourceFile:
        """The decoded input with this name."""
        if name.startswith(NATIVE_AOT):
            return SourceFile.read(self.display_path(name))
        return self._store.read_text(name)

    def read_bytes(self, name: str) -> bytes:
        """The bytes of the input."""
        if name.startswith(NATIVE_AOT):
            return self.read_text(name).text.encode()
        return self._store.read_bytes(name)

    def names(self) -> tuple[str, ...]:
        """The names of the other store's inputs, and of the declarations in the folder."""
        others = (name for name in self._store.names() if not name.startswith(NATIVE_AOT))
        return tuple(sorted([*others, *(aot_names(self._folder) if self._folder else ())]))

    def read_members(self, paths: Iterable[str]) -> dict[str, bytes]:
        """Other files of the same PyTorch."""
        return self._store.read_members(paths)

    def member_names(self, prefix: str) -> tuple[str, ...]:
        """The paths of such files that begin with `prefix`."""
        return self._store.member_names(prefix)

    def paths(self, members: Iterable[str] = ()) -> InputPaths | None:
        """The paths of the other store's inputs, and the folder."""
        paths = self._store.paths(members)
        if paths is None or not self._folder:
            return paths
        folder = os.path.abspath(self._folder)
        return InputPaths((*paths.files, *possible_aot_files(folder)), (*paths.folders, folder))
