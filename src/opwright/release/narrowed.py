"""Inputs with a part of their entries, for programs that ask about few operators.

Left out entries become empty lines, so what is left has the lines that it has in the whole file.
"""

from __future__ import annotations

from opwright.release.view import Inputs
from opwright.source.codes import INPUT_MISSING
from opwright.source.diagnostic import Fault
from opwright.source.items import split_items
from opwright.source.text import SourceFile

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import Final

    from opwright.release.store import InputPaths, Store

__all__ = ["NarrowedStore", "narrow_inputs", "narrow_text"]


def narrow_text(file: SourceFile, is_wanted: Callable[[str], bool]) -> SourceFile:
    """A file that is a YAML list with only those items whose text is wanted; the whole file if it cannot be split.

    >>> from opwright.source.text import SourceFile
    >>> narrow_text(SourceFile("f.yaml", "- a: 1\\n- b: 2\\n"), lambda text: text.startswith("b")).text
    '\\n- b: 2\\n'
    """
    items = split_items(file.text)
    if not items:
        return file
    parts = []
    end = 0
    for start, text in items:
        # The dash and the blank in front of an item belong to it.
        first, last = start - 2, start + len(text)
        parts.append("\n" * file.text.count("\n", end, first))
        parts.append(file.text[first:last] if is_wanted(text) else "\n" * text.count("\n"))
        end = last
    narrowed = "".join(parts) + file.text[end:]
    # A file without items has an empty list.
    return SourceFile(file.path, narrowed if any(is_wanted(text) for _, text in items) else f"{narrowed}[]\n")


class NarrowedStore:
    """The inputs of a store, of which some have other texts and some are left out."""

    __slots__ = ("_hidden", "_store", "_texts")

    def __init__(self, store: Inputs, texts: Mapping[str, SourceFile], hidden: Iterable[str]) -> None:
        self._store: Final = store
        self._texts: Final = texts
        self._hidden: Final = frozenset(hidden)

    def read_text(self, name: str) -> SourceFile:
        """The text of an input. Raises Fault if it is left out."""
        if name in self._hidden:
            raise Fault.at(INPUT_MISSING, f"`{name}` is left out")
        return self._texts.get(name) or self._store.read_text(name)

    def read_bytes(self, name: str) -> bytes:
        """The bytes of an input."""
        return self.read_text(name).text.encode()

    def names(self) -> tuple[str, ...]:
        """The names of the inputs that are not left out."""
        return tuple([name for name in self._store.names() if name not in self._hidden])

    def display_path(self, name: str) -> str:
        """The path of an input in diagnostics."""
        return self._store.display_path(name)

    def read_members(self, paths: Iterable[str]) -> dict[str, bytes]:
        """Other files of the same PyTorch."""
        return self._store.read_members(paths)

    def member_names(self, prefix: str) -> tuple[str, ...]:
        """The paths of such files."""
        return self._store.member_names(prefix)

    def paths(self, members: Iterable[str] = ()) -> InputPaths | None:
        """The files that determine the inputs."""
        return self._store.paths(members)


def narrow_inputs(inputs: Inputs, texts: Mapping[str, SourceFile], hidden: Iterable[str]) -> Inputs:
    """The inputs with these texts in place of their own, and without those that are hidden."""
    store: Store = NarrowedStore(inputs, texts, hidden)
    return Inputs(store, inputs.origin, inputs.version_text)
