"""Cases of `gen_backend_stubs`: backend files with what is wrong with them, marked in comments.

A case is a file of `cases/`. Its first line is a comment that says what it shows. Comments after it may say more:

    # command: -s backend.yaml -o out --dry-run x
    # refused: Duplicate backend key
    # fault: kernels.cpp:3:1 E1317

`command` has the flags, which are `-s backend.yaml -o out` by default. `refused` says that the reference refuses the
file, with a few of its words. A file beside the case, of the same name but for its ending, is `kernels.cpp` in the
working folder. A line of carets in a comment marks the words above it and names the code of our diagnostic:

    supported:
      - ab
    #   ^^ E1306

`fault` names the places of diagnostics that cannot be marked so: in the first column, or in another file.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from tests.backend.outcomes import PlacedFault, Task
from tests.backend.sides import STUBS
from tests.dialects.cases import MARK, marked_faults

FOLDER = Path(__file__).parent / "cases"
BACKEND = "backend.yaml"
#: The header of shape functions in the working folder of the program for lazy tensors.
SHAPES = "torch/csrc/lazy/core/shape_inference.h"
_HEAD = re.compile(r"# (command|refused): ?(.*)")
_FAULT = re.compile(r"# fault: (?:(.+):([0-9]+):([0-9]+) )?([EW][0-9]{4})")


@dataclass(frozen=True)
class StubCase:
    """One backend file: its text, the run of the program, what the reference says, and the expected diagnostics."""

    name: str
    title: str
    text: str
    task: Task
    refusal: str | None
    faults: tuple[PlacedFault, ...]

    @property
    def folder(self) -> str:
        """The folder of the case, which says what it is about."""
        return self.name.partition("/")[0]

    @property
    def is_refused_here(self) -> bool:
        """Whether Opwright refuses the file."""
        return any(code.startswith("E") for *_, code in self.faults)


def load_case(path: Path, folder: Path = FOLDER, program: str = STUBS, shapes: str | None = None) -> StubCase:
    """The case in a file of a folder.

    With `shapes`, that is the header which declares shape functions, unless a header of the file's name is beside it.
    """
    text = path.read_text(encoding="utf-8")
    title, *lines = text.splitlines()
    head = {match[1]: match[2] for line in lines if (match := _HEAD.fullmatch(line)) is not None}
    files = {BACKEND: text}
    kernels = path.with_suffix(".cpp")
    if kernels.is_file():
        files["kernels.cpp"] = kernels.read_text(encoding="utf-8")
    if shapes is not None:
        header = path.with_suffix(".h")
        files[SHAPES] = header.read_text(encoding="utf-8") if header.is_file() else shapes
    name = path.relative_to(folder).with_suffix("").as_posix()
    task = Task(name, tuple(shlex.split(head.get("command", f"-s {BACKEND} -o out"))), files, program)
    faults = [(BACKEND, *fault) for fault in marked_faults(text)]
    for line in lines:
        if (match := _FAULT.fullmatch(line)) is not None:
            faults.append((match[1] or "", int(match[2] or 0), int(match[3] or 0), 0, match[4]))
    return StubCase(name, title.removeprefix("# "), text, task, head.get("refused"), expected(faults))


def load_cases(prefixes: tuple[str, ...] = ("",)) -> list[StubCase]:
    """The cases whose names begin with one of some texts, by name."""
    cases = [load_case(path) for path in sorted(FOLDER.rglob("*.yaml"))]
    return [case for case in cases if case.name.startswith(prefixes)]


def expected(faults: Iterable[PlacedFault]) -> tuple[PlacedFault, ...]:
    """Diagnostics as a case can tell them: the width of a point is one, and places that cannot be marked have none."""
    return tuple(
        sorted(
            (path, line, column, max(width, 1) if can_be_marked(path, column) else 0, code)
            for path, line, column, width, code in faults
        )
    )


def can_be_marked(path: str, column: int) -> bool:
    """Whether a comment can have a caret below a place."""
    return path == BACKEND and column > 1


def without_marks(text: str) -> str:
    """The text of a case without the places of diagnostics."""
    kept = [line for line in text.splitlines() if MARK.fullmatch(line) is None and _FAULT.fullmatch(line) is None]
    return "\n".join(kept) + "\n"


def with_marks(text: str, faults: Iterable[PlacedFault]) -> str:
    """The text of a case without marks, with the places of diagnostics."""
    title, *lines = text.splitlines()
    others = [fault for fault in expected(faults) if not can_be_marked(fault[0], fault[2])]
    result: list[str] = [title, *[""] * len(others)]
    places = {1: 1}
    for number, line in enumerate(lines, 2):
        result.append(line)
        places[number] = len(result)
        for path, row, column, width, code in expected(faults):
            if row == number and can_be_marked(path, column):
                result.append(f"#{' ' * (column - 2)}{'^' * width} {code}")
    for index, (path, row, column, _, code) in enumerate(others, 1):
        own_row = places.get(row, row) if path == BACKEND else row
        result[index] = f"# fault: {path}:{own_row}:{column} {code}" if path else f"# fault: {code}"
    return "\n".join(result) + "\n"
