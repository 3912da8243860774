"""The recipes of docs/contributing.md: what each has one read and change, and the code that it shows."""

from __future__ import annotations

import re
import textwrap
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "contributing.md"

_FILES = re.compile(r"^Files you read: (?P<count>\d+) \((?P<read>[^)]*)\)\. Files you change: (?P<changed>[^:]*)\.$")


class Recipe(NamedTuple):
    """A section of the page: the number that it gives, the files that it lists, and its text."""

    title: str
    file_count: int
    read: tuple[str, ...]
    changed: tuple[str, ...]
    text: str

    @property
    def blocks(self) -> list[str]:
        """The pieces of Python on the page, in their order."""
        return re.findall(r"^```python\n(.*?)^```$", self.text, re.DOTALL | re.MULTILINE)

    @property
    def new(self) -> list[str]:
        """The files that the reader creates."""
        return re.findall(r"the new `([^`]+)`", " ".join(self.text.split()))

    @property
    def paths(self) -> set[str]:
        """The files that the text names with their folders."""
        return {file_of(name) for name in re.findall(r"`(\w+/[\w/]*\.\w+)`", self.text)}


def file_of(name: str) -> str:
    """The path from the root of the repository of a file that the page names."""
    return name if name.startswith(("docs/", "src/", "tests/")) else f"src/opwright/{name}"


def recipes() -> dict[str, Recipe]:
    """The sections of the page that list files, by title."""
    found = {}
    for section in PAGE.read_text(encoding="utf-8").split("\n## ")[1:]:
        title, _, text = section.partition("\n")
        for paragraph in text.split("\n\n"):
            if listed := _FILES.match(" ".join(paragraph.split())):
                read, changed = (tuple(re.findall(r"`([^`]+)`", listed[part])) for part in ("read", "changed"))
                found[title] = Recipe(title, int(listed["count"]), read, changed, text)
    return found


class Cost(NamedTuple):
    """What the page says of a change: the files that it changed and changes, and the lines to read then and now."""

    title: str
    files_before: int
    files: int
    lines_before: int
    lines: int


def costs() -> list[Cost]:
    """The rows of the page's table of what changes cost, each with the title of its recipe."""
    section = PAGE.read_text(encoding="utf-8").split("## What a change costs\n")[1].split("\n## ")[0]
    titles = {re.sub(r"[^\w-]", "", title.lower().replace(" ", "-")): title for title in recipes()}
    rows = re.findall(r"^\| \[[^\]]*\]\(#([\w-]+)\) \| ([\d,]+) \| ([\d,]+) \| ([\d,]+) \| ([\d,]+) \|$", section, re.M)
    return [Cost(titles[anchor], *[int(number.replace(",", "")) for number in numbers]) for anchor, *numbers in rows]


def add_row(module: Path, table: str, row: str) -> None:
    """Write a row as the last one of a table, which is a tuple over several lines."""
    text = module.read_text(encoding="utf-8")
    start = text.index(f"\n{table}: Final = (\n")
    end = text.index("\n)\n", start) + 1
    module.write_text(text[:end] + textwrap.indent(row.rstrip(), "    ") + ",\n" + text[end:], encoding="utf-8")
