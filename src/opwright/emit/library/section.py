"""What the sources of a library consist of: sections, each made by a module that knows one subject."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from opwright.emit.emitter import FragmentContext
from opwright.emit.library.parts import LibraryPart
from opwright.source.named_tuple import NamedTuple

__all__ = ["MakeSection", "Section"]


class Section(NamedTuple):
    """A piece of a source file: the headers that it needs, and its text. An empty text adds nothing to the file."""

    includes: tuple[str, ...] = ()
    text: str = ""


#: Makes the section of a subject for a part of a library.
MakeSection: TypeAlias = Callable[[LibraryPart, FragmentContext], Section]
