"""Show the entry that a generated line comes from, or the entries behind a name.

  opwright where build/aten/src/ATen/RegisterCPU_0.cpp:1234
  opwright where at::add_out AddmmBackward0            any name that `opwright explain` takes

For a line, the run that made the file must have used `--provenance FILE`. If FILE is not below the output folder of
that run, name it here too."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from opwright.cli import console
from opwright.cli.arguments import add_input_arguments
from opwright.cli.input_arguments import open_named_inputs
from opwright.files.plain_files import read_below, read_plain_file, stays_below
from opwright.source.codes import NO_PROVENANCE, NO_SUCH_LINE
from opwright.source.diagnostic import Diagnostics, Fault
from opwright.source.limits import read_number
from opwright.source.terminal import say, tell
from opwright.workspace.provenance import FileOrigin, LineOrigin, provenance_names

#: The maximal number of entries that are printed for one line.
_MOST_ENTRIES: Final = 4


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument(
        "places",
        metavar="FILE:LINE",
        nargs="+",
        help="a line of a generated file, as compilers name it, or a name",
    )
    parser.add_argument(
        "--provenance", metavar="FILE", help="the file that `generate --provenance` wrote, if `where` does not find it"
    )
    add_input_arguments(parser)


def run(arguments: argparse.Namespace, sink: Diagnostics) -> int:
    """Print the entry, its place and the emitter."""
    lines = {place: _parse_location(place) for place in arguments.places}
    statuses = [_print_line(*line, arguments.provenance) for line in lines.values() if line is not None]
    names = [place for place, line in lines.items() if line is None]
    if names:
        statuses.append(_print_entries(names, arguments, sink))
    return max(statuses)


def _print_entries(names: Sequence[str], arguments: argparse.Namespace, sink: Diagnostics) -> int:
    """Print where the entries of the overloads are that names mean, and give the exit status."""
    from opwright.backends.dispatch.resolution import qualified_name
    from opwright.tools.explain.loading import ExplainRequest
    from opwright.tools.explain.naming import named_overloads, unknown_name

    request = ExplainRequest(tuple(names), open_named_inputs(arguments, sink), arguments.release)
    named, resolutions = named_overloads(request, sink)
    for name, matches in named.items():
        if not matches and name in resolutions:
            taken_for = resolutions[name].taken_for
            say(f"opwright where: `{name}` is {taken_for}; `opwright explain {name}` says what it has\n")
        elif not matches:
            say(f"opwright where: {unknown_name(name, request)}\n")
        for function, _ in matches:
            tell(f"{function.entry.file.path}:{function.entry.line}: {qualified_name(function)}")
    return console.SUCCESS if all(named.values()) else console.FAULTS


def _print_line(path: str, line: int, provenance: str | None) -> int:
    """Print the entry that a line of a file comes from, and give the exit status."""
    _check_line(path, line)
    target = os.path.realpath(path).replace(os.sep, "/")
    if provenance is not None:
        return _print_origin(path, line, _file_origin(_read_provenance(provenance), target))
    elsewhere = None
    for folder, name in _nearby_provenance(target):
        if os.path.isabs(name):
            elsewhere = name
            continue
        with contextlib.suppress(OSError):
            origin = _file_origin(read_below(folder, name), target) if stays_below(name) else None
            if origin is not None:
                return _print_origin(path, line, origin)
    return _print_origin(path, line, None, elsewhere)


def _read_provenance(provenance: str) -> bytes:
    try:
        return read_plain_file(os.path.realpath(provenance))
    except OSError as error:
        raise Fault.at(NO_PROVENANCE, f"cannot read `{provenance}`: {error.strerror}") from None


def _parse_location(text: str) -> tuple[str, int] | None:
    """File and line of `FILE:LINE` or `FILE:LINE:COLUMN`; None for a name. Raises Fault for a path without a line."""
    parts = text.split(":")
    numbers: list[int] = []
    while len(parts) > 1 and len(numbers) < 2 and (number := read_number(parts[-1])) is not None:
        numbers.append(number)
        parts.pop()
    if not numbers and "/" in text:
        raise Fault.at(NO_PROVENANCE, f"`{text}` does not name a line", help="write `FILE:LINE`")
    return (":".join(parts), numbers[-1]) if numbers else None


def _nearby_provenance(target: str) -> Iterator[tuple[str, str]]:
    """The folders above a file that have a manifest, each with the path of the provenance file in the manifest."""
    folder = os.path.dirname(target)
    while folder != os.path.dirname(folder):
        for name in provenance_names(folder):
            yield folder, name
        folder = os.path.dirname(folder)


def _file_origin(provenance: bytes, target: str) -> FileOrigin | None:
    """Origin of an output's lines in a provenance file; None if it has none, or is damaged."""
    try:
        data = json.loads(provenance)
        emitter, ranges = data["files"][target]
        entries = data["entries"]
        return _checked(emitter, [LineOrigin(first, last, *entries[number]) for first, last, number in ranges])
    except DAMAGED:
        return None


#: What Python raises for a provenance file that is damaged, or that somebody forged.
DAMAGED: Final = (ValueError, LookupError, TypeError, AttributeError, RecursionError)


def _checked(emitter: object, lines: Sequence[LineOrigin]) -> FileOrigin:
    """Origin of the lines of a file. Raises TypeError for a value of a wrong type."""
    if not isinstance(emitter, str) or any(list(map(type, line)) != [int, int, str, int, str] for line in lines):
        raise TypeError("a line is a number, and a name is a text")
    return FileOrigin(emitter, tuple(lines))


def _print_origin(path: str, line: int, origin: FileOrigin | None, elsewhere: str | None = None) -> int:
    """Print the origin, and give the exit status. `elsewhere` is a provenance file outside the output folder."""
    if origin is None:
        how = f"name the file: `--provenance {elsewhere}`" if elsewhere else "generate with `--provenance FILE`"
        raise Fault.at(NO_PROVENANCE, f"no provenance file covers `{path}`", help=how)
    tell(f"{path}:{line} comes from the emitter `{origin.emitter}`")
    makers = [lines for lines in origin.lines if lines.first <= line <= lines.last]
    for maker in makers[:_MOST_ENTRIES]:
        tell(f"  from `{maker.operator}`, lines {maker.first} to {maker.last}")
        tell(f"  --> {maker.path}:{maker.line}")
    more = len(makers) - _MOST_ENTRIES
    if more > 0:
        tell(f"  and from {more} more {'entry' if more == 1 else 'entries'}")
    if not makers:
        tell("  from its template, or from text that all entries share")
    return console.SUCCESS


def _check_line(path: str, line: int) -> None:
    """Raise Fault if a file has no such line. A file that cannot be read is reported later."""
    with contextlib.suppress(OSError):
        data = read_plain_file(os.path.realpath(path))
        count = data.count(b"\n") + (not data.endswith(b"\n") and bool(data))
        if not 1 <= line <= count:
            noun = "line" if count == 1 else "lines"
            raise Fault.at(NO_SUCH_LINE, f"`{path}` has {count} {noun}, and no line {line}")


def folder_origins(folder: str, is_wanted: Callable[[str, int], bool]) -> dict[str, FileOrigin]:
    """Origins of the files of an output folder, by their absolute paths. Raises Fault if it has no provenance.

    Of each file there are only the lines from entries that are wanted, by their files and lines.
    """
    top = os.path.realpath(folder).replace(os.sep, "/")
    texts = [_read_provenance(os.path.join(top, name)) for name in provenance_names(top)]
    if not texts:
        help = "generate with `--out DIR --provenance FILE`"
        raise Fault.at(NO_PROVENANCE, f"`{folder}` has no provenance", help=help)
    origins: dict[str, FileOrigin] = {}
    for text in texts:
        with contextlib.suppress(*DAMAGED):
            origins |= _origins_of_entries(text, is_wanted)
    return origins


def _origins_of_entries(provenance: bytes, is_wanted: Callable[[str, int], bool]) -> dict[str, FileOrigin]:
    """Origins in a provenance file that are of wanted entries. Raises an error of Python if it is damaged."""
    data = json.loads(provenance)
    entries = {number: entry for number, entry in enumerate(data["entries"]) if is_wanted(entry[0], entry[1])}
    origins = {
        target: _checked(
            emitter,
            [LineOrigin(first, last, *entries[number]) for first, last, number in ranges if number in entries],
        )
        for target, (emitter, ranges) in data["files"].items()
    }
    return {target: origin for target, origin in origins.items() if origin.lines}
