"""What commands write and print besides the outputs: lists, dependency and stamp files, provenance, progress."""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from contextlib import contextmanager
from typing import Final

from opwright.cli.depfile import cmake_list, dependencies, make_rule
from opwright.cli.extra_files import check_folders, check_overwrites, write_stamp
from opwright.cli.streams import wants_color
from opwright.files.plain_files import real_path
from opwright.files.writer import Writer
from opwright.incremental.identity import RunIdentity, input_files
from opwright.source.codes import OUTPUT_DIFFERS, UNWRITABLE_PATH
from opwright.source.diagnostic import Diagnostics, Fault
from opwright.source.terminal import print_document, slow, tell

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from opwright.files.plain_files import Status
    from opwright.files.plan import PlannedFile
    from opwright.files.staging import Journal
    from opwright.incremental.identity import InputStamps
    from opwright.run.generation import Generation
    from opwright.run.incremental_generation import IncrementalGeneration
    from opwright.run.output_writer import Outcome, Report
    from opwright.workspace.provenance import FileOrigin


def list_or_check(
    arguments: argparse.Namespace, incremental: IncrementalGeneration, generation: Generation, sink: Diagnostics
) -> bool:
    """List or check the outputs instead of writing them, as the arguments ask. Gives whether they are right.

    A list has a path per line, or is one for CMake, after which is one of what the run reads. A check reports each
    output that is missing or differs on disk, and each that is no longer made.
    """
    targets = [planned.target for planned in generation.plan().outputs]
    if arguments.check:
        stale = incremental.stale_outputs(set(targets))
        differing = generation.differing()
        for path in differing:
            what = "differs from what is generated" if os.path.lexists(path) else "is missing"
            sink.error(OUTPUT_DIFFERS, f"`{path}` {what}")
        gone = sorted(filter(os.path.lexists, stale))
        for path in gone:
            sink.error(OUTPUT_DIFFERS, f"`{path}` is no longer generated")
        return not differing and not gone
    if arguments.list_outputs != "cmake":
        print_document("".join([f"{target}\n" for target in targets]))
        return True
    inputs = dependencies(incremental.stamps)
    # What no build can depend on is a fault before the first build, which would configure itself without end.
    make_rule((), inputs)
    for path in inputs:
        if "\\" in path.replace(os.sep, "/"):
            # CMake reads a slash, and a build would wait for a file that is not there each time.
            raise Fault.at(
                UNWRITABLE_PATH,
                f"CMake cannot depend on `{ascii(path)[1:-1]}`: it reads `/` for `\\`",
                help="rename the file or its folder",
            )
    print_document(cmake_list("opwright_outputs", targets) + "\n")
    print_document(cmake_list("opwright_inputs", inputs) + "\n")
    return True


def write_outputs(
    arguments: argparse.Namespace,
    incremental: IncrementalGeneration,
    generation: Generation,
    facts: Mapping[str, str] | None = None,
) -> Outcome:
    """Write the outputs and the additional files that the arguments ask for; show a bar on a terminal.

    `facts` are kept in the manifest.
    """
    stamps = incremental.stamps
    check_extras(arguments, generation, incremental.run, stamps)
    with progress(arguments.color) as report:
        outcome = incremental.write(
            generation,
            report,
            lambda outcome, journal: _write_extras(arguments, generation, outcome, stamps, journal),
            {**facts_of(arguments), **(facts or {})},
        )
    write_stamp(arguments.stamp, arguments.out)
    return outcome


def _write_extras(
    arguments: argparse.Namespace,
    generation: Generation,
    outcome: Outcome,
    stamps: InputStamps | None,
    journal: Journal | None,
) -> dict[str, Status]:
    """Write the dependency file and the provenance that the arguments ask for, and give the status of each."""
    with Writer(journal) as writer:
        if arguments.depfile is not None:
            targets: Iterable[str] = sorted(outcome.statuses) if arguments.stamp is None else [arguments.stamp]
            writer.write(real_path(arguments.depfile), make_rule(targets, dependencies(stamps)))
        if arguments.provenance is not None:
            from opwright.workspace.provenance import origins

            text = _provenance_text(origins(generation, outcome))
            writer.write(real_path(arguments.provenance), text.encode())
    return writer.statuses


def _provenance_text(origins: Mapping[str, FileOrigin]) -> str:
    """Text of the provenance file: all entries, and for the lines of each file the indices of their entries."""
    entries: dict[tuple[str, int, str], int] = {}
    files = {
        target: [
            origin.emitter,
            [
                [line.first, line.last, entries.setdefault((line.path, line.line, line.operator), len(entries))]
                for line in origin.lines
            ],
        ]
        for target, origin in origins.items()
    }
    return json.dumps({"format": 2, "entries": list(entries), "files": files}, separators=(",", ":"))


def facts_of(arguments: argparse.Namespace) -> dict[str, str]:
    """Facts for the manifest: the path of the provenance file, relative to the output folder if it is below it."""
    if arguments.provenance is None:
        return {}
    path, top = real_path(arguments.provenance), os.path.realpath(arguments.out)
    return {"provenance": os.path.relpath(path, top).replace(os.sep, "/") if path.startswith(top + os.sep) else path}


def check_extras(
    arguments: argparse.Namespace, generation: Generation, run: RunIdentity, stamps: InputStamps | None
) -> None:
    """Check the paths of the additional files before the run writes anything.

    Raises Fault for a path that a dependency file cannot contain (E0612), for one in other use (E0613), and for one
    behind a link (E0607).
    """
    named = {"--depfile": arguments.depfile, "--stamp": arguments.stamp, "--provenance": arguments.provenance}
    files = [(flag, path) for flag, path in named.items() if path is not None]
    check_overwrites(files, generation, run, input_files(stamps))
    check_folders([path for _, path in files], arguments.out)
    if arguments.depfile is not None:
        make_rule(run.roots.values() if arguments.stamp is None else [arguments.stamp], dependencies(stamps))


_SECONDS_BETWEEN: Final = 0.1


@contextmanager
def progress(color: str) -> Iterator[Report | None]:
    """A reporter that moves a bar on standard error, or None if that is not a terminal or `rich` is not
    installed.

    `color` is a choice of `--color`.

    The bar is redrawn by the reporter alone and not by a thread: a process with threads cannot be copied to share the
    work.
    """
    if not sys.stderr.isatty():
        yield None
        return
    try:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
    except ModuleNotFoundError:
        yield None
        return

    # The total is unknown until all files are made, and other processes make some of them, so the bar has no total.
    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    console = Console(stderr=True, no_color=not wants_color(color))
    with slow(""), Progress(*columns, console=console, transient=True, auto_refresh=False) as bar:
        bar.add_task("writing", total=None)
        bar.refresh()
        drawn = time.monotonic()

        def report(planned: PlannedFile, written: bool) -> None:
            del planned, written
            nonlocal drawn
            now = time.monotonic()
            if now - drawn > _SECONDS_BETWEEN:
                drawn = now
                bar.refresh()

        yield report


_HEAD = ("emitter", "files made", "files reused", "fragments made", "fragments reused")


def print_stats(incremental: IncrementalGeneration, outcome: Outcome) -> None:
    """Print how many files and fragments each emitter made and reused, and the seconds of each stage.

    A file counts as made if its text was put together in this run, whether or not it differed from the file on disk.
    A fragment counts as reused if its text was taken out of a file on disk, or if no file needed it.
    """
    rows = [
        # The number at the end tells emitters of one name apart.
        (name.removesuffix(" 1"), counts.files_made, counts.files_reused, counts.made, counts.reused)
        for name, counts in sorted(outcome.fragments.items())
    ]
    totals = [sum(column) for column in zip(*[row[1:] for row in rows], strict=True)] or [0] * (len(_HEAD) - 1)
    _print_table([_HEAD, *[row for row in rows if row[1] or row[3]], ("all emitters", *totals)])
    tell("")
    _print_table([("stage", "seconds"), *[(stage, f"{seconds:.3f}") for stage, seconds in incremental.seconds.items()]])


def _print_table(rows: Iterable[Sequence[object]]) -> None:
    texts = [[str(f"{value:,}" if isinstance(value, int) else value) for value in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*texts, strict=True)]
    for first, *others in texts:
        cells = [text.rjust(width) for text, width in zip(others, widths[1:], strict=True)]
        tell("  ".join([first.ljust(widths[0]), *cells]))
