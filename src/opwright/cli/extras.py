"""What `opwright generate` writes and says besides the outputs: lists, dependency files, stamps, provenance."""

from __future__ import annotations

import argparse
import json
import os
import sys

from opwright.build.writer import Writer, touch_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from opwright.build.plain_files import Status
    from opwright.build.plan import Plan
    from opwright.build.staging import Journal
    from opwright.build.watch import Watched
    from opwright.generation import Generation, Outcome
    from opwright.source.diagnostic import Diagnostics

__all__ = ["check_outputs", "print_outputs", "said", "write_extras", "write_stamp"]


def print_outputs(plan: Plan, form: str) -> None:
    """Print the place of every output: one to a line, or as a CMake list."""
    targets = [planned.target for planned in plan.outputs]
    if form == "cmake":
        from opwright.build.depfile import cmake_list

        print(cmake_list("opwright_outputs", targets))
    else:
        sys.stdout.writelines(f"{target}\n" for target in targets)


def write_stamp(path: str | None) -> None:
    """Give the file that tells build systems of the last run the time of now."""
    if path is not None:
        touch_file(path)


def write_extras(
    arguments: argparse.Namespace, generation: Generation, outcome: Outcome, watched: Watched | None, journal: Journal
) -> dict[str, Status]:
    """Write the dependency file and the provenance that the arguments ask for, and give the status of each."""
    with Writer(journal) as writer:
        if arguments.depfile is not None:
            from opwright.build.depfile import make_rule

            targets: Iterable[str] = sorted(outcome.statuses) if arguments.stamp is None else [arguments.stamp]
            inputs = [path for path, mark in watched.files.items() if mark is not None] if watched is not None else []
            writer.write(_real_path(arguments.depfile), os.fsencode(make_rule(targets, inputs)))
        if arguments.provenance is not None:
            origins = generation.provenance(outcome)
            text = json.dumps({"format": 1, "files": origins}, separators=(",", ":"))
            writer.write(_real_path(arguments.provenance), text.encode())
    return writer.statuses


def said(arguments: argparse.Namespace) -> dict[str, str]:
    """What the record tells `where`: the place of the provenance, relative to the output folder if it is below it."""
    if arguments.provenance is None:
        return {}
    path, top = _real_path(arguments.provenance), os.path.realpath(arguments.out)
    return {"provenance": os.path.relpath(path, top).replace(os.sep, "/") if path.startswith(top + os.sep) else path}


def _real_path(path: str) -> str:
    """The path of a file with the links of its folder resolved. The file itself may be a link, which is replaced."""
    folder, name = os.path.split(os.path.abspath(path))
    return os.path.join(os.path.realpath(folder), name)


def check_outputs(generation: Generation, stale: Iterable[str], sink: Diagnostics) -> bool:
    """Report every output that is not on disk as it should be, and every stale one. True if there is none."""
    from opwright.build.codes import OUTPUT_DIFFERS

    differing = generation.differing()
    for path in differing:
        what = "differs from what is generated" if os.path.lexists(path) else "is missing"
        sink.error(OUTPUT_DIFFERS, f"`{path}` {what}")
    gone = sorted(path for path in stale if os.path.lexists(path))
    for path in gone:
        sink.error(OUTPUT_DIFFERS, f"`{path}` is generated no longer")
    return not differing and not gone
