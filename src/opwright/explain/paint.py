"""Colours and links of explanations on a terminal."""

from __future__ import annotations

import os
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from opwright.explain.records import FilePlace
from opwright.source.named_tuple import NamedTuple

__all__ = ["Painter"]

_BOLD: Final = "\x1b[1m"
_BLUE: Final = "\x1b[1;34m"
_DIM: Final = "\x1b[2m"
_RESET: Final = "\x1b[0m"


class Painter(NamedTuple):
    """Paints texts for a terminal of some columns.

    `links` says that the terminal has links (OSC 8). `home` is the folder to which paths are shown relative, if they
    are below it.
    """

    color: bool = False
    links: bool = False
    columns: int = 80
    home: str = ""

    def title(self, text: str) -> str:
        """The title of a section."""
        return self._paint(text, _BOLD)

    def key(self, text: str) -> str:
        """A word that stands for what follows it."""
        return self._paint(text, _BLUE)

    def note(self, text: str) -> str:
        """A text that says more about what precedes it."""
        return self._paint(text, _DIM)

    def place(self, place: FilePlace, *, is_short: bool = False) -> str:
        """A file with its line, which links to the file; the name of the file alone if it `is_short`."""
        shown = os.path.basename(place.file) if is_short else self.shown_path(place.file)
        return self.link(f"{shown}:{place.line}", place.file)

    def shown_path(self, path: str) -> str:
        """A path as it is printed: relative to the home folder if it is below it."""
        below = os.path.join(self.home, "")
        return path.removeprefix(below) if self.home else path

    def link(self, text: str, path: str) -> str:
        """A text that links to a file, if the file exists."""
        if not self.links or not os.path.isfile(path):
            return text
        return f"\x1b]8;;{Path(path).resolve().as_uri()}\x1b\\{text}\x1b]8;;\x1b\\"

    def _paint(self, text: str, style: str) -> str:
        return f"{style}{text}{_RESET}" if self.color and text else text

    def wrap_signature(self, lead: str, text: str, indent: int) -> Iterator[str]:
        """A C++ signature after a lead, in lines that end between parameters.

        >>> signature = "Tensor add(Tensor a, Tensor b, Scalar alpha, bool c)"
        >>> print(*Painter(columns=40).wrap_signature("at::  ", signature, 4), sep="\\n")
        at::  Tensor add(Tensor a, Tensor b,
            Scalar alpha, bool c)
        """
        name, bracket, rest = text.partition("(")
        parameters = rest.replace(", ", ",\n").split("\n")
        line = f"{lead}{name}{bracket}"
        is_first = True
        for parameter in parameters:
            joined = line + parameter if is_first or not line.strip() else f"{line} {parameter}"
            if len(joined) > self.columns and line.strip():
                yield line
                joined = " " * indent + parameter
            line, is_first = joined, False
        yield line

    def wrap(self, lead: str, text: str, *, indent: int | None = None, note: bool = False) -> Iterator[str]:
        """A text after a lead, which is painted as a key, and continued below the text or at an indent."""
        below = " " * (len(lead) if indent is None else indent)
        lines = textwrap.wrap(
            text,
            max(self.columns, len(below) + 20),
            initial_indent=lead,
            subsequent_indent=below,
            break_long_words=False,
            break_on_hyphens=False,
        ) or [lead.rstrip()]
        for index, line in enumerate(lines):
            start = lead if index == 0 else below
            rest = line[len(start) :]
            yield (self.key(start) if index == 0 and lead.strip() else start) + (self.note(rest) if note else rest)
