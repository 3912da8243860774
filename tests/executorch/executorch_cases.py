"""Cases of ExecuTorch's files: files of operators with what is wrong with them, marked in comments.

A case is a file of `cases/`, whose first line says what it shows. It is a file like `functions.yaml`, unless it is cut
into parts by comments that name them: `functions`, `custom`, `selection`. Comments in the first lines may say more:

    # mode: aten
    # strict: E1924
    # has: return ::::(context
    # strict has: return ::mine::native::add_out(context
    # reference: sources

`strict` names the diagnostics of a run with `--strict`, and `has` a text in the outputs. A line of carets in a comment
marks the words above it, and names the code of the diagnostic of a run without that flag. The job `executorch-cases` of
the conformance suite compares all cases with ExecuTorch's program. `reference` says that this makes only the `sources`,
because an operator has several kernels, or that it `accepts` or `refuses` the case, and Opwright is right not to.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from opwright.dialects.selection import load_selection
from opwright.emit.emitter import Options
from opwright.mobile.executorch_choices import ExecutorchFiles, ExecutorchOptions
from opwright.model.selection import EVERYTHING
from opwright.release.inputs import from_installed
from opwright.run.generation import Generation
from opwright.run.request import Request
from opwright.source.diagnostic import Diagnostic, Diagnostics, FaultsFound
from opwright.source.text import SourceFile
from tests.dialects.cases import marked_faults

#: The part of a case, and the line, column, width and code of a diagnostic in it.
PlacedFault = tuple[str, int, int, int, str]

FOLDER = Path(__file__).parent / "cases"
FAMILIES = ("executorch_headers", "executorch_sources")
_PART = re.compile(r"# part: (\w+)\n")
_HEAD = re.compile(r"# (mode|strict|has|strict has|reference): ?(.*)")
_INPUTS = from_installed()


@dataclass(frozen=True)
class ExecutorchCase:
    """The texts of a case by the names of their parts, and what its comments say."""

    name: str
    parts: Mapping[str, str]
    head: tuple[tuple[str, str], ...]

    def said(self, word: str) -> list[str]:
        """What the first lines say under a word."""
        return [text for key, text in self.head if key == word]

    @property
    def faults(self) -> list[PlacedFault]:
        """The marked diagnostics, with the part that each is in."""
        return sorted((part, *fault) for part, text in self.parts.items() for fault in marked_faults(text))

    @property
    def is_refused(self) -> bool:
        """Whether a marked diagnostic is an error."""
        return any(code.startswith("E") for *_, code in self.faults)


@dataclass(frozen=True)
class Outcome:
    """The diagnostics of a run, and the text of all outputs; empty after an error."""

    diagnostics: tuple[Diagnostic, ...]
    text: str

    @property
    def codes(self) -> list[str]:
        """The codes of all diagnostics."""
        return sorted(diagnostic.code for diagnostic in self.diagnostics)

    @property
    def faults(self) -> list[PlacedFault]:
        """The places of diagnostics that have one."""
        placed = [(diagnostic.span, diagnostic.code) for diagnostic in self.diagnostics]
        return sorted(
            (span.file.path, span.line, span.column, len(span.text.split("\n", 1)[0]), code)
            for span, code in placed
            if span is not None
        )


def load_case(path: Path) -> ExecutorchCase:
    """The case in a file."""
    text = path.read_text(encoding="utf-8")
    head = tuple([(match[1], match[2]) for line in text.splitlines() if (match := _HEAD.fullmatch(line))])
    first, *rest = _PART.split(text)
    parts = dict(zip(rest[::2], rest[1::2], strict=True)) or {"functions": first}
    return ExecutorchCase(path.stem, parts, head)


def load_cases() -> list[ExecutorchCase]:
    """All cases, by name."""
    return [load_case(path) for path in sorted(FOLDER.glob("*.yaml"))]


def sound_texts() -> list[str]:
    """The files of operators of all cases without an error."""
    return [
        text
        for case in load_cases()
        for part, text in case.parts.items()
        if part != "selection" and not case.said("strict") and not case.is_refused
    ]


def run_case(case: ExecutorchCase, folder: Path, *, strict: bool) -> Outcome:
    """Generate the files of a case."""
    sink = Diagnostics()
    files = {part: SourceFile(part, text) for part, text in case.parts.items()}
    chosen = load_selection(files["selection"], sink) if "selection" in files else EVERYTHING
    options = ExecutorchOptions(aten_mode="aten" in case.said("mode"), as_reference=not strict)
    request = Request(
        inputs=_INPUTS,
        folders={"executorch": str(folder)},
        families=FAMILIES,
        options=Options(guests=(options,)),
        selection=chosen,
        tolerant=not strict,
        guests=(
            ExecutorchFiles(
                tuple([file for part, file in files.items() if part.startswith("functions")]),
                tuple([file for part, file in files.items() if part.startswith("custom")]),
                "custom" in files,
            ),
        ),
    )
    try:
        Generation(request, sink).write()
    except FaultsFound:
        return Outcome(tuple(sink), "")
    return Outcome(tuple(sink), "\n".join([path.read_text() for path in sorted(folder.iterdir())]))
