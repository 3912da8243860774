"""Tell which entry a generated line was made from.

  opwright where build/aten/src/ATen/RegisterCPU_0.cpp:1234

The run that made the file must have had `--provenance FILE`."""

from __future__ import annotations

import argparse
import json
import os

from opwright.build.codes import NO_PROVENANCE
from opwright.build.record import STATE_FOLDER, record_paths, recorded_facts
from opwright.cli import console
from opwright.source.diagnostic import Diagnostics, Fault

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("place", metavar="FILE:LINE", help="a line of a generated file, as compilers name it")
    parser.add_argument("--provenance", metavar="FILE", help="what `generate --provenance` wrote, if it is not found")


def run(arguments: argparse.Namespace, sink: Diagnostics) -> int:
    """Print the entry, its place and the emitter."""
    del sink
    path, line = _place(arguments.place)
    target = os.path.realpath(path).replace(os.sep, "/")
    for provenance in [arguments.provenance] if arguments.provenance is not None else _near(target):
        origin = _file_origin(provenance, target)
        if origin is not None:
            _print_origin(path, line, origin)
            return console.SUCCESS
    raise Fault.at(NO_PROVENANCE, f"nothing tells where `{path}` comes from", help="generate with `--provenance FILE`")


def _place(text: str) -> tuple[str, int]:
    """File and line of `FILE:LINE` or `FILE:LINE:COLUMN`."""
    parts = text.split(":")
    numbers: list[int] = []
    while len(parts) > 1 and parts[-1].isdigit() and len(numbers) < 2:
        numbers.append(int(parts.pop()))
    if not numbers:
        raise Fault.at(NO_PROVENANCE, f"`{text}` names no line", help="write `FILE:LINE`")
    return ":".join(parts), numbers[-1]


def _near(target: str) -> list[str]:
    """What runs into the folders above a file say of where they put the provenance."""
    found = []
    folder = os.path.dirname(target)
    while folder != os.path.dirname(folder):
        for path in record_paths(os.path.join(folder, STATE_FOLDER)):
            named = recorded_facts(path).get("provenance")
            if isinstance(named, str):
                found.append(named)
        folder = os.path.dirname(folder)
    return found


def _file_origin(provenance: str, target: str) -> tuple[str, list[list[object]]] | None:
    try:
        with open(provenance, "rb") as stream:
            data = json.load(stream)
        emitter, lines = data["files"][target]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return emitter, lines


def _print_origin(path: str, line: int, origin: tuple[str, list[list[object]]]) -> None:
    emitter, stretches = origin
    print(f"{path}:{line} is made by emitter `{emitter}`")
    for first, last, entry, entry_line, operator in stretches:
        if isinstance(first, int) and isinstance(last, int) and first <= line <= last:
            print(f"  from `{operator}`, lines {first} to {last}")
            print(f"  --> {entry}:{entry_line}")
            return
    print("  from its template, or from what all entries have in common")
