"""Compare the operators of two releases: what was removed, added and changed, and whom each change breaks.

  opwright diff 2.12.1 2.13.0                      two releases
  opwright diff auto ~/pytorch                     the installed PyTorch and a source tree
  opwright diff old.yaml new.yaml                  two files of operators, or dumps
  opwright diff 2.12.1 2.13.0 --backend acme.yaml  what a backend has to do for the new one
  opwright diff 2.12.1 2.13.0 'conv*' --all        some operators, with every difference

The exit status is 0 if nothing breaks, 1 if something does, or if an input has errors, and 2 for wrong usage."""

from __future__ import annotations

import argparse
import sys
from fnmatch import fnmatchcase
from typing import Final

from opwright.cli.arguments import ask_whole_download, not_empty

# Modules that do the work are imported when the command runs.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from opwright.diff.backend import BackendTask
    from opwright.diff.records import Comparison, OperatorChange
    from opwright.run.diff import LoadedSide
    from opwright.source.diagnostic import Diagnostics

_FORMATS: Final = ("text", "markdown", "json")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    from opwright.diff.records import Audience

    side = "a release such as 2.13.0, `auto`, a wheel, a folder of inputs, a file of operators, or a dump"
    parser.add_argument("old", metavar="OLD", type=not_empty, help=f"what to compare: {side}")
    parser.add_argument("new", metavar="NEW", type=not_empty, help="what to compare with, the same")
    parser.add_argument(
        "names", metavar="NAME", nargs="*", help="only these operators; patterns such as `conv*` do too"
    )
    chosen = parser.add_argument_group("what is compared")
    chosen.add_argument(
        "--backend",
        metavar="FILE",
        type=not_empty,
        help="say what this backend file has to change, and show only the operators that it names",
    )
    chosen.add_argument("--public", action="store_true", help="leave out operators whose names begin with `_`")
    chosen.add_argument(
        "--breaks",
        metavar="WHOM",
        action="append",
        default=[],
        choices=[audience.name for audience in Audience],
        help=f"only changes that break {', '.join([audience.name for audience in Audience])} (may be repeated)",
    )
    output = parser.add_argument_group("output")
    output.add_argument("--format", choices=_FORMATS, default="text", help="the form of the report (default: text)")
    output.add_argument("--all", action="store_true", help="show differences that break nobody too: kernels, tags")
    output.add_argument("--out", metavar="FILE", type=not_empty, help="write the report to this file")
    output.add_argument(
        "--fail-on",
        metavar="WHOM",
        action="append",
        default=[],
        choices=["any", "none", *[audience.name for audience in Audience]],
        help="exit with 1 only for changes that break these: any (the default), none, or as for `--breaks`; with "
        "`--backend`, any task is one (may be repeated)",
    )
    output.add_argument(
        "--yes", action="store_true", help="download a whole wheel without asking, if the index cannot send parts of it"
    )


def run(arguments: argparse.Namespace, sink: Diagnostics) -> int:
    """Print the report, or write it."""
    from opwright.cli import console
    from opwright.diff.compare import compare
    from opwright.diff.records import Audience
    from opwright.run.diff import load_side

    old, new = (load_side(spec, ask_whole_download(arguments), sink) for spec in (arguments.old, arguments.new))
    comparison = compare(old.side, new.side)
    tasks, named = _tasks(arguments, old, new, sink)
    sink.raise_if_errors()
    wanted = [Audience[name] for name in arguments.breaks]
    changes = [
        change
        for change in comparison.changes
        if (not arguments.names or any(fnmatchcase(change.name, name) for name in arguments.names))
        and not (arguments.public and change.is_private)
        and (named is None or change.name in named)
        and (not wanted or any(audience in change.breaks for audience in wanted))
    ]
    text = _render(arguments, comparison, changes, tasks)
    if arguments.out is None:
        sys.stdout.write(text)
    else:
        with open(arguments.out, "w", encoding="utf-8", newline="") as stream:
            stream.write(text)
    levels = arguments.fail_on or ["any"]
    audiences = [audience for audience in Audience if "any" in levels or audience.name in levels]
    fails = any(audience in change.breaks for change in changes for audience in audiences)
    if tasks is not None:
        fails = bool(tasks) and "none" not in levels
    return console.FAULTS if fails else console.SUCCESS


def _tasks(
    arguments: argparse.Namespace, old: LoadedSide, new: LoadedSide, sink: Diagnostics
) -> tuple[list[BackendTask] | None, set[str] | None]:
    """What a backend has to do, and the operators that it names; None without a backend."""
    if arguments.backend is None:
        return None, None
    from opwright.diff.backend import backend_tasks, named_operators
    from opwright.run.diff import load_backend_side

    sides = [load_backend_side(arguments.backend, loaded, sink) for loaded in (old, new)]
    sink.raise_if_errors()
    before, after = sides
    if before is None or after is None:
        return [], set()
    return backend_tasks(before, after), named_operators(before)


def _render(
    arguments: argparse.Namespace,
    comparison: Comparison,
    changes: Sequence[OperatorChange],
    tasks: Sequence[BackendTask] | None,
) -> str:
    from opwright.diff.formats import json_report, markdown_report, text_report

    match arguments.format:
        case "json":
            return json_report.render(comparison, changes, tasks)
        case "markdown":
            return markdown_report.render(comparison, changes, tasks, every=arguments.all)
        case _:
            return text_report.render(comparison, changes, tasks, every=arguments.all)
