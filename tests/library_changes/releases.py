"""Consecutive releases of libraries from the package index: verdicts beside PyTorch's own rules.

    python -m tests.library_changes.releases --only vllm

The operators of each release are imported from its sources. Of each operator that two releases have with different
schemas, PyTorch's rules say whether programs that were saved with one run with the other; the report has to say the
same. It fails where they differ.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import re
import sys
import tempfile
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Final, NamedTuple

from opwright.cli.main import main as run_opwright
from opwright.schema.function import FunctionSchema
from opwright.source.diagnostic import Diagnostics
from opwright.tools.diff.compare import compare
from opwright.tools.diff.diffing import load_side
from opwright.tools.diff.records import Audience, ChangeKind, Comparison, Level, OperatorChange
from opwright.tools.diff.reports import verdict_on
from tests.conformance.inputs import ROOT
from tests.conformance.report import table
from tests.field_replay.__main__ import sources_of

COLUMNS: Final = ("releases", "gone", "new", "other schemas", "of these break programs", "verdict", "changes")
_REGISTERS: Final = re.compile(r"\b(?:STABLE_)?TORCH_LIBRARY(?:_FRAGMENT|_IMPL)?\(|RegisterOperators")
_STABLE: Final = re.compile(r"\bSTABLE_TORCH_LIBRARY")

#: The folder of the downloads.
CACHE: Final = ROOT / ".cache" / "field"


class Releases(NamedTuple):
    """Versions of a project, in their order. A project with two interfaces is read by one of them."""

    project: str
    versions: tuple[str, ...]
    is_stable: bool = False


RELEASES: Final = (
    Releases("vllm", ("0.28.0", "0.29.0", "0.30.0", "0.31.0", "0.32.0", "0.33.0"), is_stable=True),
    Releases("torch-scatter", ("2.0.9", "2.1.0", "2.1.1", "2.1.2")),
    Releases("torch-sparse", ("0.6.15", "0.6.16", "0.6.17", "0.6.18")),
    Releases("torch-cluster", ("1.6.0", "1.6.1", "1.6.2", "1.6.3")),
)


def library_file(releases: Releases, version: str, cache: Path, out: Path) -> Path:
    """The library file of a release, imported from the sources that register operators."""
    top = sources_of(f"{releases.project}=={version}", cache)
    pattern = _STABLE if releases.is_stable else _REGISTERS
    paths = sorted(path for path in (top / "csrc").rglob("*") if path.suffix in (".cpp", ".cu", ".cc"))
    sources = [str(path) for path in paths if pattern.search(path.read_text(encoding="utf-8", errors="replace"))]
    (out / version).mkdir(parents=True)
    path, printed = out / version / "library.yaml", io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
        status = run_opwright(["import", *sources, "-D", "TORCH_EXTENSION_NAME=_C", "--out", str(path)])
    assert status == 0, printed.getvalue()
    return path


class Rules(NamedTuple):
    """What the report says of an operator that both releases have, beside PyTorch's rules about its schemas.

    `silent` are breaks that the report does not tell, `more` the reasons of those that no schema shows.
    """

    breaks: bool
    silent: tuple[str, ...]
    more: tuple[str, ...]


def rules(change: OperatorChange, before: FunctionSchema, after: FunctionSchema) -> Rules:
    """Compare the report with PyTorch's rules."""
    import torch

    old, new = (torch._C.parse_schema(f"a::{schema}") for schema in (before, after))
    backward, forward = new.is_backward_compatible_with(old), new.check_forward_compatible_with(old)[0]
    silent, more = [], []
    for audience, holds in ((Audience.serialized, backward), (Audience.forward, forward)):
        if not holds and audience not in change.breaks:
            silent.append(f"{change.name}: nothing is said of a break of {audience.name}:\n  {old}\n  {new}")
        elif holds:
            reasons = [reason.text for reason in change.reasons if audience in reason.audiences]
            more += [f"{change.name}: {audience.name}: {text}" for text in reasons]
    return Rules(not backward, tuple(silent), tuple(more))


def compared(files: tuple[Path, Path]) -> Comparison:
    """What differs between two library files."""
    sink = Diagnostics()
    sides = [load_side(str(file), None, sink).side for file in files]
    sink.raise_if_errors()
    return compare(*sides)


def _row(label: str, comparison: Comparison) -> tuple[tuple[str, ...], list[str], list[str]]:
    """A row of the table, the breaks that are not told, and the reasons that no schema shows."""
    changes = comparison.changes
    counts = Counter(change.kind for change in changes)
    told = [
        rules(change, change.old.schema, change.new.schema)
        for change in changes
        if change.old is not None and change.new is not None and str(change.old.schema) != str(change.new.schema)
    ]
    verdict = verdict_on(changes, comparison, "")
    levels = Counter(change.level for change in changes)
    row = (
        label,
        str(counts[ChangeKind.removed]),
        str(counts[ChangeKind.added]),
        str(len(told)),
        str(sum(each.breaks for each in told)),
        verdict.level.name,
        ", ".join([f"{levels[level]} {level.name}" for level in Level if levels[level]]),
    )
    return row, [text for each in told for text in each.silent], [text for each in told for text in each.more]


def main(arguments: list[str] | None = None) -> int:
    """Run the program; the status is 1 if the report is silent about a break."""
    parser = argparse.ArgumentParser(prog="python -m tests.library_changes.releases", description=__doc__)
    parser.add_argument("--only", default="", help="a project")
    options = parser.parse_args(arguments)
    rows: list[tuple[str, ...]] = []
    silent: list[str] = []
    more: list[str] = []
    with tempfile.TemporaryDirectory() as name:
        for releases in RELEASES:
            if options.only not in ("", releases.project):
                continue
            folder = Path(name) / releases.project
            files = [
                library_file(releases, version, ROOT / ".cache" / "libraries", folder) for version in releases.versions
            ]
            for (old, first), (new, second) in pairwise(zip(releases.versions, files, strict=True)):
                row, unsaid, beyond = _row(f"{releases.project} {old} -> {new}", compared((first, second)))
                rows.append(row)
                silent += unsaid
                more += beyond
    print("\n".join(table(COLUMNS, rows)))
    if more:
        print(f"\nBreaks that PyTorch's rules do not have: {len(more)}", *more, sep="\n")
    print(f"\nBreaks by PyTorch's rules that the report does not tell: {len(silent)}", *silent, sep="\n")
    return 1 if silent else 0


if __name__ == "__main__":
    sys.exit(main())
