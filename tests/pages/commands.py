"""The commands that pages show: lines of blocks of code that begin with the name of the program."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from opwright.cli.main import COMMANDS

__all__ = ["WrittenCommand", "written_commands"]

_ROOT = Path(__file__).resolve().parents[2]
_BLOCK = re.compile(r"(?ms)^ *```[^\n]*\n(.*?)^ *```$")
_COMMAND = re.compile(r"(?m)^ *(?:\$ )?opwright ((?:[^\n\\]|\\\n|\\.)*)$")
#: What ends a command in a shell, and the two blanks before an explanation.
_END = re.compile(r"\s[|>;&#]|&&|;|\s{2,}|\$\(")


class WrittenCommand(NamedTuple):
    """A command in a page: the page, the line, and the words behind the name of the program."""

    page: Path
    line: int
    words: tuple[str, ...]


def written_commands(pages: Iterable[Path] = ()) -> list[WrittenCommand]:
    """The commands of pages, by default of the README and of the pages of the documentation that people wrote."""
    pages = list(pages) or [_ROOT / "README.md", *sorted((_ROOT / "docs").glob("*.md"))]
    commands = []
    for page in pages:
        text = page.read_text(encoding="utf-8")
        # Continued lines are one line.
        for block in _BLOCK.finditer(text):
            for match in _COMMAND.finditer(block[1]):
                line = text.count("\n", 0, block.start(1) + match.start()) + 1
                whole = re.sub(r"\s*\\\n\s*", " ", match[1])
                words = tuple(shlex.split(_END.split(whole)[0]))
                # Pages of reference show `opwright COMMAND`, and dots for words that are left out.
                if words and words[0] in COMMANDS and not any("..." in word for word in words):
                    commands.append(WrittenCommand(page, line, words))
    return commands
