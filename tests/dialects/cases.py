"""Cases: small YAML documents with the faults that they have, marked in comments.

A file of `cases/` holds documents parted by `---`. The first line of each is a comment that says what it shows. A
line of carets in a comment marks the words above it and names the code of the fault:

    - func: zero(Tensr self) -> Tensor
    #            ^^^^^ E0202

A document without such lines has no fault. `[silent]` in its first line tells that the reference loads it
(and may fail later).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parent / "cases"
MARK = re.compile(r"#? *(\^+) ([EW][0-9]{4})")

Fault = tuple[int, int, int, str]


@dataclass(frozen=True)
class Case:
    """One document: where it is from, what it shows, its text, and its faults as (line, column, width, code)."""

    name: str
    title: str
    text: str
    faults: tuple[Fault, ...]

    @property
    def has_errors(self) -> bool:
        """Whether any of its faults is an error."""
        return any(code.startswith("E") for *_, code in self.faults)

    @property
    def is_silent(self) -> bool:
        """Whether the reference accepts the document although it has faults."""
        return "[silent]" in self.title


def load_cases(file: str, folder: Path = FOLDER) -> list[Case]:
    """The cases of a file of a folder."""
    documents = (folder / file).read_text(encoding="utf-8").split("\n---\n")
    return [_case(f"{file}-{number}", text) for number, text in enumerate(documents, 1)]


def marked_faults(text: str) -> tuple[Fault, ...]:
    """The faults that the comments of a text mark, in order."""
    faults: list[Fault] = []
    above = 0
    for number, line in enumerate(text.splitlines(), 1):
        mark = MARK.fullmatch(line)
        if mark is None:
            above = number
        else:
            faults.append((above, mark.start(1) + 1, len(mark.group(1)), mark.group(2)))
    return tuple(sorted(faults))


def without_marks(text: str) -> str:
    """The text of a document without the comments that mark faults."""
    lines = text.splitlines()
    return "\n".join([line for line in lines if not (line.startswith("#") and MARK.fullmatch(line))])


def with_marks(text: str, faults: Iterable[Fault]) -> str:
    """The text of a document without marks, with comments that mark faults. A fault in the first column gets none."""
    places = sorted(faults)
    lines: list[str] = []
    for number, line in enumerate(text.splitlines(), 1):
        lines.append(line)
        for row, column, width, code in places:
            if row == number and column > 1:
                lines.append(f"#{' ' * (column - 2)}{'^' * max(width, 1)} {code}")
    return "\n".join(lines)


def _case(name: str, text: str) -> Case:
    return Case(name, text.splitlines()[0].lstrip("# "), text + "\n", marked_faults(text))
