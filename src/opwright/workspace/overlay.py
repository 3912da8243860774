"""Inputs made from others: with files of a user in place of theirs, with few of their entries, or noting reads.

Left out entries become empty lines, so what is left has the lines that it has in the whole file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final

from opwright.release.store import InputPaths, Store
from opwright.release.view import Inputs
from opwright.source.codes import INPUT_MISSING
from opwright.source.diagnostic import Fault
from opwright.source.items import split_items
from opwright.source.text import SourceFile


def with_texts(inputs: Inputs, texts: Mapping[str, SourceFile], *, hidden: frozenset[str] = frozenset()) -> Inputs:
    """The inputs with these texts, by the names of inputs, and without those that are hidden: reading one raises Fault.

    >>> import opwright
    >>> from opwright.source.text import SourceFile
    >>> own = with_texts(opwright.open_inputs(), {"native/tags.yaml": SourceFile("mine.yaml", "- tag: core")})
    >>> own.read_text("native/tags.yaml").path
    'mine.yaml'
    """
    if not texts and not hidden:
        return inputs
    return inputs.with_store(_Overlay(inputs._store, texts, hidden))


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
        """The decoded input with this name. Raises Fault if it is hidden."""
        if name in self._hidden:
            raise Fault.at(INPUT_MISSING, f"`{name}` is left out")
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
    for start, text in [item for item in items if is_wanted(item[1])]:
        # The dash and the blank in front of an item belong to it.
        first, last = start - 2, start + len(text)
        parts += ["\n" * file.text.count("\n", end, first), file.text[first:last]]
        end = last
    rest = "\n" * file.text.count("\n", end)
    # A file without items has an empty list.
    parts.append(rest if parts else f"{rest}[]\n")
    return SourceFile(file.path, "".join(parts))


class RecordedInputs(Inputs):
    """A view of other inputs whose `reads` are the names of the inputs that were asked for, also of missing ones."""

    __slots__ = ("reads",)

    def __init__(self, inputs: Inputs) -> None:
        super().__init__(inputs._store, inputs.origin, inputs.version_text, inputs.root)
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
