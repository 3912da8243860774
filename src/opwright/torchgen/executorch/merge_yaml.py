"""Unite a functions.yaml with the entries of a fallback file that it lacks.

Takes the flags of `python -m executorch.codegen.tools.merge_yaml`, and writes the same bytes to merged.yaml."""

from __future__ import annotations

import os

from opwright.cli.plain_words import text
from opwright.cli.streams import leave
from opwright.source.codes import NOT_AN_ENTRY
from opwright.source.yaml_writer import write_entries
from opwright.torchgen.quick_program import QuickProgram, Result

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from opwright.cli.plain_words import Values
    from opwright.selective.files import Files

_OPTIONS = (
    text("functions-yaml-path", metavar="FILE", help="the entries of this file are all kept", is_required=True),
    text("fallback-yaml-path", metavar="FILE", help="of this file, the entries of operators that the first one lacks"),
    text("--output_dir", metavar="DIR", help="the folder to write merged.yaml into", is_required=True),
)


def _work(values: Values, files: Files) -> Result:
    entries: dict[str, dict[str, Any]] = dict(_entries(str(values["functions_yaml_path"]), files))
    fallback = values["fallback_yaml_path"]
    if fallback is not None and os.path.exists(str(fallback)):
        for name, entry in _entries(str(fallback), files):
            entries.setdefault(name, entry)
    path = os.path.join(str(values["output_dir"]), "merged.yaml")
    return Result({path: write_entries(list(entries.values()))})


def _entries(path: str, files: Files) -> Iterator[tuple[str, dict[str, Any]]]:
    """The entries of a file by qualified name; of two with one name the later one counts."""
    from opwright.torchgen.executorch.document_shapes import OPERATOR_ENTRIES

    entries = files.value(path, OPERATOR_ENTRIES, "a file of operators")
    assert isinstance(entries, list)
    for entry in entries:
        name = entry.get("op") or entry.get("func", "").partition("(")[0]
        if not name:
            first = next(iter(entry), "")
            files.refuse(NOT_AN_ENTRY, "an entry has neither `op` nor `func`", path=path, name=first)
        yield name if "::" in name else f"aten::{name}", entry


def main(argv: Sequence[str] | None = None) -> int:
    """Run the program and return its exit status."""
    return QuickProgram("executorch.merge_yaml", __doc__ or "", _OPTIONS, _work).run(argv)


if __name__ == "__main__":
    leave(main)
