"""Cases of the programs for selective builds: files that a person can read.

A case starts with its sentence and the command, then has the files that the command reads, the files that it writes,
and what it reports:

    # An operator with a default kernel has all dtypes.
    $ executorch.gen_selected_op_variants --yaml-file-path kept.yaml --output-dir out
    === kept.yaml
    ...
    === out/selected_op_variants.h
    ...
    === report
    kept.yaml:3:5: error[E1808]

`=== printed` is what the program prints. `=== library: refuses` says that PyTorch's selector library does not load the
selections among the files.
"""

from __future__ import annotations

import contextlib
import io
import re
import shlex
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

FOLDER = Path(__file__).parent / "cases"

_SECTION = re.compile(r"^=== (.+)\n", re.MULTILINE)
_PLACE = re.compile(r"^ *--> (.+)$", re.MULTILINE)
_HEAD = re.compile(r"^(error|warning|note)\[([EWN][0-9]{4})\]: (.*)$", re.MULTILINE)


@dataclass(frozen=True)
class ProgramCase:
    """One run of a program, with all that it reads, writes and prints."""

    name: str
    sentence: str
    words: tuple[str, ...]
    files: dict[str, str]
    outputs: dict[str, str]
    report: tuple[str, ...]
    printed: str
    library_refuses: bool

    @property
    def fails(self) -> bool:
        """Whether the program reports an error."""
        return any("error[" in line for line in self.report)


def load_case(path: Path) -> ProgramCase:
    """The case in a file."""
    text = path.read_text(encoding="utf-8")
    head, *parts = _SECTION.split(text)
    sentence, command = head.splitlines()
    assert (sentence[:2], sentence[-1], command[:2]) == ("# ", ".", "$ "), path.name
    sections = dict(zip(parts[::2], parts[1::2], strict=True))
    report = tuple(sections.pop("report", "").splitlines())
    printed = sections.pop("printed", "")
    refuses = sections.pop("library: refuses", None) is not None
    return ProgramCase(
        path.stem,
        sentence,
        tuple(shlex.split(command[2:])),
        {name: content for name, content in sections.items() if not name.startswith("out/")},
        {name: content for name, content in sections.items() if name.startswith("out/")},
        report,
        printed,
        refuses,
    )


def load_cases() -> list[ProgramCase]:
    """All cases, by name."""
    return [load_case(path) for path in sorted(FOLDER.glob("*.txt"))]


@dataclass(frozen=True)
class ProgramRun:
    """What a run of a program left: its exit status, the files below `out`, and what it printed."""

    status: int
    outputs: dict[str, str]
    report: tuple[str, ...]
    printed: str


def run_case(case: ProgramCase, folder: Path) -> ProgramRun:
    """Run a program in the working folder, which gets the files of the case."""
    for name, content in case.files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")
    (folder / "out").mkdir(exist_ok=True)
    program, *words = case.words
    name = "opwright.cli.main" if program == "opwright" else f"opwright.torchgen.{program}"
    standard_output, standard_error = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(standard_output), contextlib.redirect_stderr(standard_error):
        status = import_module(name).main(words)
    written = {
        path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8")
        for path in sorted((folder / "out").rglob("*"))
        if path.is_file()
    }
    return ProgramRun(status, written, tuple(short_report(standard_error.getvalue())), standard_output.getvalue())


def short_report(text: str) -> list[str]:
    """A line for each diagnostic of a report: its place and its code."""
    heads = [*_HEAD.finditer(text)]
    ends = [*[head.start() for head in heads[1:]], len(text)]
    lines = []
    for head, end in zip(heads, ends, strict=False):
        place = _PLACE.search(text, head.end(), end)
        where = "" if place is None else f"{place[1]}: "
        lines.append(f"{where}{head[1]}[{head[2]}]")
    return lines
