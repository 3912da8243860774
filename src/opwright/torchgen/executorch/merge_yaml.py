"""Unite a functions.yaml with the entries of a fallback file that it lacks.

Takes the flags of `python -m executorch.codegen.tools.merge_yaml`, and writes the same bytes to merged.yaml."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Iterator
from typing import Any

import yaml

from opwright.cli.arguments import spellings
from opwright.cli.streams import leave
from opwright.mobile.mobile_codes import NOT_AN_ENTRY
from opwright.mobile.selective.files import Files
from opwright.torchgen.executorch.document_shapes import OPERATOR_ENTRIES
from opwright.torchgen.selective_program import Program, Result


def _declare(add: Callable[..., object]) -> None:
    add(*spellings("functions-yaml-path"), metavar="FILE", help="the entries of this file are all kept", required=True)
    add(
        *spellings("fallback-yaml-path"),
        metavar="FILE",
        help="of this file, the entries of operators that the first one lacks",
    )
    add("--output_dir", metavar="DIR", help="the folder to write merged.yaml into", required=True)


def _work(arguments: argparse.Namespace, files: Files) -> Result:
    entries: dict[str, dict[str, Any]] = dict(_entries(arguments.functions_yaml_path, files))
    fallback = arguments.fallback_yaml_path
    if fallback is not None and os.path.exists(fallback):
        for name, entry in _entries(fallback, files):
            entries.setdefault(name, entry)
    path = os.path.join(arguments.output_dir, "merged.yaml")
    return Result({path: _text_of(list(entries.values()))})


def _text_of(entries: list[dict[str, Any]]) -> str:
    """Text of entries with a blank line between them; keys stay in their order, lines are long."""
    lines = yaml.safe_dump(entries, default_flow_style=False, sort_keys=False, width=1000).split("\n")
    return "\n".join([f"\n{line}" if line.startswith("- ") and number else line for number, line in enumerate(lines)])


def _entries(path: str, files: Files) -> Iterator[tuple[str, dict[str, Any]]]:
    """Entries of a file by qualified name; of two with one name the later one counts."""
    entries = files.value(path, OPERATOR_ENTRIES, "a file of operators")
    assert isinstance(entries, list)
    for entry in entries:
        name = entry.get("op") or entry.get("func", "").partition("(")[0]
        if not name:
            first = next(iter(entry), "")
            files.refuse(NOT_AN_ENTRY, "an entry has neither `op` nor `func`", path=path, name=first)
        yield name if "::" in name else f"aten::{name}", entry


main = Program("executorch.merge_yaml", __doc__, _declare, _work)


if __name__ == "__main__":
    leave(main)
