"""Paths and values of variables in Ninja's files, which have no strings."""

from __future__ import annotations

import re
from typing import Final

from opwright.source.codes import NOT_WRITABLE
from opwright.source.diagnostic import Fault, shorten

__all__ = ["path_text", "value_text"]

#: What no escape of Ninja writes: the ends of lines and of the file, and in a path also what ends a list of paths.
_LINE_ENDS: Final = re.compile(r"[\r\n\0]")
_PATH_ENDS: Final = re.compile(r"[\r\n\0|]")
_SPECIAL: Final = re.compile(r"[$ :]")


def path_text(path: str) -> str:
    """A path in a build edge. Raises Fault for one with a line break or a `|` (E0619).

    >>> path_text("C:/a b")
    'C$:/a$ b'
    """
    return _SPECIAL.sub(r"$\g<0>", _without(_PATH_ENDS, path, "path"))


def value_text(text: str) -> str:
    """The value of a variable, in which nothing is another variable. Raises Fault for one with a line
    break (E0619).

    >>> value_text("echo $HOME")
    'echo $$HOME'
    """
    return _without(_LINE_ENDS, text, "text").replace("$", "$$")


def _without(refused: re.Pattern[str], text: str, kind: str) -> str:
    if refused.search(text):
        raise Fault.at(NOT_WRITABLE, f"a file of Ninja cannot have the {kind} `{shorten(ascii(text)[1:-1])}`")
    return text
