"""Compare the operators of two releases: what was removed, added and changed, and whom each change breaks.

  opwright diff 2.12.1 2.13.0                      two releases
  opwright diff auto ~/pytorch                     the installed PyTorch and a source tree
  opwright diff old.yaml new.yaml                  two files of operators, or dumps
  opwright diff git:v1.4 acme.yaml                 a library since a commit: a major, minor or patch version
  opwright diff module:acme_ops acme.yaml          a library that is installed, and its next version
  opwright diff 2.12.1 2.13.0 --backend acme.yaml  what a backend has to do for the new one
  opwright diff 2.12.1 2.13.0 'conv*' --all        some operators, with every difference
  opwright diff --output build-old build-new       generated files, by operator

Of libraries it says last whether the changes make a major, a minor or a patch version.

The exit status is 0 if nothing breaks, 1 if something does, or if an input has errors, and 2 for wrong usage."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import Final

from opwright.cli import console
from opwright.cli.arguments import add_download_arguments, not_empty, repeated
from opwright.cli.input_arguments import add_allow_path_argument, ask_whole_download
from opwright.cli.streams import print_or_write
from opwright.release.view import Consent
from opwright.source.diagnostic import Diagnostics
from opwright.source.terminal import say
from opwright.tools.diff import reports
from opwright.tools.diff.backend import BackendTask, backend_tasks, named_operators
from opwright.tools.diff.compare import Side, compare
from opwright.tools.diff.diffing import (
    LoadedSide,
    generated_side,
    has_inputs,
    load_backend_side,
    load_side,
    output_side,
)
from opwright.tools.diff.generated import generated_sides
from opwright.tools.diff.history import dated, revisions
from opwright.tools.diff.outputs import (
    OutputSide,
    compare_outputs,
    render_json,
    render_markdown,
    render_text,
)
from opwright.tools.diff.places import placed
from opwright.tools.diff.records import ORDER, Audience, Comparison, Level, OperatorChange, next_version

_FORMATS: Final = ("text", "markdown", "json")
#: Levels for which a run can fail.
_LEVELS: Final = (Level.major.name, Level.minor.name)


def _version(text: str) -> str:
    try:
        next_version(text, Level.patch)
    except ValueError:
        raise argparse.ArgumentTypeError(f"`{text}` is no version such as 1.4.2") from None
    return text


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    side = (
        "a release such as 2.13.0, `auto`, a wheel, a source distribution, a folder of inputs or of library files, a "
        "file of operators, a dump, `git:REF` for what a commit has at the path of the other one, or `module:NAME` for "
        "an installed package, which is imported if it has no library files"
    )
    parser.add_argument("old", metavar="OLD", type=not_empty, help=f"what to compare: {side}")
    parser.add_argument("new", metavar="NEW", type=not_empty, help="what to compare with, the same")
    parser.add_argument(
        "names", metavar="NAME", nargs="*", default=[], help="only these operators; patterns such as `conv*` do too"
    )
    chosen = parser.add_argument_group("what is compared")
    chosen.add_argument(
        "--backend",
        metavar="FILE",
        type=not_empty,
        help="say what this backend file has to change, and show only the operators that it names",
    )
    chosen.add_argument(
        "--release", metavar="VERSION", help="follow the rules of this release for folders, whatever release they name"
    )
    chosen.add_argument("--public", action="store_true", help="leave out operators whose names begin with `_`")
    repeated(chosen)(
        "--breaks",
        metavar="WHOM",
        help=f"only changes that break {', '.join([audience.name for audience in Audience])}, or any of them (may be "
        "repeated)",
        choices=["any", *[audience.name for audience in Audience]],
    )
    add_allow_path_argument(parser)
    _add_output_arguments(parser)
    output = parser.add_argument_group("output")
    output.add_argument("--format", choices=_FORMATS, default="text", help="the form of the report (default: text)")
    output.add_argument("--all", action="store_true", help="show differences that break nobody too: kernels, tags")
    output.add_argument(
        "--since",
        action="store_true",
        help="say which commit or tag was the first with each change, where OLD is `git:REF`",
    )
    output.add_argument("--statistics", action="store_true", help="print how many changes there are of each kind")
    output.add_argument("--out", metavar="FILE", type=not_empty, help="write the report to this file")
    repeated(output)(
        "--fail-on",
        metavar="WHOM",
        help="exit with 1 only for changes that break these: any (the default), none, or as for `--breaks`; for "
        "changes of libraries that are `major`, or `minor` or more; with `--backend`, any task is one (may be "
        "repeated)",
        choices=["any", "none", *_LEVELS, *[audience.name for audience in Audience]],
    )
    output.add_argument(
        "--current",
        metavar="VERSION",
        type=_version,
        help="the version of OLD: the report says that of NEW, for libraries",
    )
    add_download_arguments(output)


def _add_output_arguments(parser: argparse.ArgumentParser) -> None:
    files = parser.add_argument_group("generated files")
    files.add_argument(
        "--output",
        action="store_true",
        help="compare what is generated instead: each side is a folder of generated files, or a release or a folder of "
        "inputs to generate them from",
    )
    repeated(files)(
        "--python",
        metavar="PYTHON",
        help="the Python interpreter whose Opwright generates the files; given twice, that of each side",
        type=not_empty,
    )
    repeated(files)(
        "--only",
        metavar="FAMILY",
        help="generate only this family of files, as in `opwright generate` (may be repeated)",
        type=not_empty,
    )


def run(arguments: argparse.Namespace, sink: Diagnostics) -> int:
    """Print the report, or write it."""
    if arguments.output:
        return _compare_outputs(arguments)
    consent = Consent(ask_whole_download(arguments), arguments.require_hashes)
    old, new = (
        _load(spec, other, consent, arguments, sink)
        for spec, other in ((arguments.old, arguments.new), (arguments.new, arguments.old))
    )
    comparison = compare(old.side, new.side)
    if arguments.since:
        comparison = _dated(comparison, old, arguments)
    tasks, named = _tasks(arguments, old, new, sink)
    sink.raise_if_errors()
    wanted = [audience for audience in Audience if {"any", audience.name} & set(arguments.breaks)]
    changes = [
        change
        for change in comparison.changes
        if (not arguments.names or any(fnmatchcase(change.name, name) for name in arguments.names))
        and not (arguments.public and change.is_private)
        and (named is None or change.name in named)
        and (not wanted or any(audience in change.breaks for audience in wanted))
    ]
    verdict = reports.verdict_on(changes, comparison, arguments.current or "") if comparison.has_verdict else None
    print_or_write(_render(arguments, comparison, changes, tasks, verdict), arguments.out)
    levels = arguments.fail_on or ["any"]
    audiences = [audience for audience in Audience if "any" in levels or audience.name in levels]
    fails = any(audience in change.breaks for change in changes for audience in audiences)
    if verdict is not None:
        fails |= any(name in levels and ORDER.index(verdict.level) >= ORDER.index(Level[name]) for name in _LEVELS)
    if tasks is not None:
        fails = bool(tasks) and "none" not in levels
    return console.FAULTS if fails else console.SUCCESS


def _dated(comparison: Comparison, old: LoadedSide, arguments: argparse.Namespace) -> Comparison:
    """A comparison that says since which commit or tag each change is there."""

    def load(spec: str) -> Side:
        sink = Diagnostics()
        side = _load(spec, arguments.new, Consent(None, False), arguments, sink).side
        sink.raise_if_errors()
        return side

    result = dated(comparison, old.side, list(revisions(arguments.old, arguments.new)), load)
    if result.unread:
        say(f"opwright diff: {result.unread} of {result.commits} commits cannot be read, and are left out\n")
    return result.comparison


def _load(spec: str, other: str, consent: Consent, arguments: argparse.Namespace, sink: Diagnostics) -> LoadedSide:
    """One side. That of a commit, an archive or a module is called what the user called it."""
    with placed(spec, other) as place:
        loaded = load_side(place.path, consent, sink, arguments.release, tuple(arguments.allow_path))
    if place.path == spec:
        return loaded
    return loaded._replace(side=loaded.side._replace(label=spec, runs=place.runs))


def _compare_outputs(arguments: argparse.Namespace) -> int:
    """Compare generated files, and give the exit status."""
    if len(arguments.python) > 2:
        return console.refuse("diff", "`--python` is given once or twice")
    interpreters = arguments.python * (1 if len(arguments.python) == 2 else 2) or [sys.executable] * 2
    comparison = compare_outputs(*_output_sides(arguments, interpreters))
    if arguments.names:
        chosen = [
            difference
            for difference in comparison.differences
            if any(fnmatchcase(difference.operator, name) for name in arguments.names)
        ]
        comparison = comparison._replace(differences=tuple(chosen))
    if arguments.format == "json":
        text = render_json(comparison)
    else:
        render = render_markdown if arguments.format == "markdown" else render_text
        text = render(comparison, in_full=arguments.all or bool(arguments.names))
    print_or_write(text, arguments.out)
    return console.SUCCESS if comparison.is_empty or "none" in arguments.fail_on else console.FAULTS


def _output_sides(arguments: argparse.Namespace, interpreters: Sequence[str]) -> tuple[OutputSide, OutputSide]:
    """Both sides of a comparison of generated files."""
    specs = (arguments.old, arguments.new)
    if not arguments.python and all(os.path.isdir(spec) and has_inputs(spec) for spec in specs):
        sides = generated_sides(*specs, arguments.only, arguments.release)
        if sides is not None:
            return sides
    old, new = (_output_side(spec, python, arguments) for spec, python in zip(specs, interpreters, strict=True))
    return old, new


def _output_side(spec: str, python: str, arguments: argparse.Namespace) -> OutputSide:
    """Files in a folder, unless it has inputs; else those that an Opwright generates."""
    if os.path.isdir(spec) and not has_inputs(spec):
        return output_side(spec)
    words = [word for family in arguments.only for word in ("--only", family)]
    if arguments.release and os.path.isdir(spec):
        words += ["--release", arguments.release]
    return generated_side(spec, python, words, os.environ)


def _tasks(
    arguments: argparse.Namespace, old: LoadedSide, new: LoadedSide, sink: Diagnostics
) -> tuple[list[BackendTask] | None, set[str] | None]:
    """What a backend has to do, and the operators that it names; None without a backend."""
    if arguments.backend is None:
        return None, None

    sides = [load_backend_side(arguments.backend, loaded, sink, tuple(arguments.allow_path)) for loaded in (old, new)]
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
    verdict: reports.VersionVerdict | None,
) -> str:
    if arguments.statistics:
        return reports.render_statistics(comparison, changes)
    if arguments.format == "json":
        return reports.render_json(comparison, changes, tasks, verdict)
    render = reports.render_markdown if arguments.format == "markdown" else reports.render_text
    return render(comparison, changes, tasks, every=arguments.all, verdict=verdict)
