"""Inputs of a release with some files in place of its own: files of a user, or texts that are not saved yet."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from opwright.release.view import Inputs

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from opwright.release.store import InputPaths, Store
    from opwright.source.text import SourceFile

__all__ = ["with_texts"]


def with_texts(inputs: Inputs, texts: Mapping[str, SourceFile], *, hidden: frozenset[str] = frozenset()) -> Inputs:
    """The inputs with these texts, by the names of inputs, and without those that are hidden.

    >>> import opwright
    >>> from opwright.source.text import SourceFile
    >>> own = with_texts(opwright.open_inputs(), {"native/tags.yaml": SourceFile("mine.yaml", "- tag: core")})
    >>> own.read_text("native/tags.yaml").path
    'mine.yaml'
    """
    if not texts and not hidden:
        return inputs
    return Inputs(_Overlay(inputs._store, texts, hidden), inputs.origin, inputs.version_text)


class _Overlay:
    """A store like another one, with some texts of its own, and without some names."""

    __slots__ = ("_hidden", "_store", "_texts")

    def __init__(self, store: Store, texts: Mapping[str, SourceFile], hidden: frozenset[str]) -> None:
        self._store: Final = store
        self._texts: Final = texts
        self._hidden: Final = hidden

    def display_path(self, name: str) -> str:
        """The path of the file."""
        return self._texts[name].path if name in self._texts else self._store.display_path(name)

    def read_text(self, name: str) -> SourceFile:
        """The decoded input with this name."""
        return self._texts[name] if name in self._texts else self._store.read_text(name)

    def read_bytes(self, name: str) -> bytes:
        """The bytes of the input."""
        return self._texts[name].text.encode() if name in self._texts else self._store.read_bytes(name)

    def names(self) -> tuple[str, ...]:
        """The names of the other store's inputs, and of the texts."""
        return tuple(sorted({*self._store.names(), *self._texts}.difference(self._hidden)))

    def read_members(self, paths: Iterable[str]) -> dict[str, bytes]:
        """Other files of the same PyTorch."""
        return self._store.read_members(paths)

    def member_names(self, prefix: str) -> tuple[str, ...]:
        """The paths of such files that begin with `prefix`."""
        return self._store.member_names(prefix)

    def paths(self, members: Iterable[str] = ()) -> InputPaths | None:
        """None: what the texts are is not on disk."""
        del members
        return None
