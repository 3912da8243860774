"""Generated files of two folders of inputs, where they differ: one process generates both.

The second run takes up what the first one made, so it makes what differs alone, and only the lines of these files are
traced to their operators. A process learns the keys and types of one generator, so both folders need the same.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Mapping
from typing import Final

from opwright.dialects.table import member_names
from opwright.emit.registry import build_folders, chosen_families, dialects_of
from opwright.files.plain_files import read_plain_file, real_path
from opwright.incremental.previous_build import PreviousBuild
from opwright.release.generator_files import GENERATOR
from opwright.release.inputs import from_source_path
from opwright.release.lent import with_installed
from opwright.release.view import Inputs
from opwright.run.generation import Generation, import_modules
from opwright.run.request import Request
from opwright.source.child import usable_processes
from opwright.source.diagnostic import Diagnostics, Fault
from opwright.source.terminal import slow
from opwright.tools.diff.outputs import FileLines, OutputSide
from opwright.workspace.memory import memory_folder
from opwright.workspace.provenance import FileOrigin, MadeFiles, origins_of_differences

#: Members of a PyTorch that decide what is read of its inputs, besides those of dialects.
_MORE: Final = ("version.txt", "torch/version.py")
#: Several times what the files of one side take.
_SPACE: Final = 1 << 29


def generated_sides(
    old: str, new: str, only: Iterable[str], release: str | None
) -> tuple[OutputSide, OutputSide] | None:
    """What is generated for two folders of inputs, without the files that are the same for both.

    `only` are families, all usual ones without any; `release` is the one whose rules hold, None for the one that each
    folder names. None if one process cannot generate both. Raises FaultsFound with every mistake in the inputs.
    """
    families = chosen_families(only)
    sinks = Diagnostics(), Diagnostics()
    sides = [
        with_installed(from_source_path(spec), sink, release=release)
        for spec, sink in zip((old, new), sinks, strict=True)
    ]
    if any(_text(sides[0], name) != _text(sides[1], name) for name in GENERATOR):
        return None
    folder = tempfile.TemporaryDirectory(prefix="opwright-diff-", dir=memory_folder(_SPACE))
    with folder as out, slow(f"opwright: generating {old} and {new}"):
        root = real_path(out)
        requests = [
            Request(inputs, build_folders(root, families), families, release=release, refuses_edits=True)
            for inputs in sides
        ]
        import_modules(families)
        first = _loaded(requests[0], sinks[0])
        if _are_same(sides[0], sides[1], families):
            return OutputSide(old, {}, {}), OutputSide(new, {}, {})
        before = first.write_after(None, processes=usable_processes())
        contents = {path: read_plain_file(path) for path in before.statuses}
        second = _loaded(requests[1], sinks[1])
        after = second.write_after(PreviousBuild(before.emitters, before.statuses), processes=usable_processes())
        touched = {path for path, status in after.statuses.items() if before.statuses.get(path) != status}
        written = {path: read_plain_file(path) for path in touched}
        changed = {path for path, data in written.items() if contents.get(path) != data}
        gone = before.statuses.keys() - after.statuses.keys()
        old_files = MadeFiles(first, before, {path: contents[path] for path in (changed | gone) & contents.keys()})
        new_files = MadeFiles(second, after, {path: written[path] for path in changed})
        origins = origins_of_differences(old_files, new_files)
        return _side(old, old_files, origins[0], root), _side(new, new_files, origins[1], root)


def _text(inputs: Inputs, name: str) -> str | None:
    source = inputs.read_optional(name)
    return None if source is None else source.text


def _loaded(request: Request, sink: Diagnostics) -> Generation:
    """A run with its inputs loaded and checked."""
    generation = Generation(request, sink, defer=True)
    generation.check_shims()
    return generation


def _are_same(old: Inputs, new: Inputs, families: Iterable[str]) -> bool:
    """Whether two folders have the same inputs, so that the same is generated."""
    if (old.version_text, old.names(), old.digest) != (new.version_text, new.names(), new.digest):
        return False
    members = (*member_names(dialects_of(families)), *_MORE)
    return all(_member(old, name) == _member(new, name) for name in members)


def _member(inputs: Inputs, name: str) -> bytes | None:
    try:
        return inputs.read_member(name)
    except Fault:
        return None


def _side(label: str, files: MadeFiles, origins: Mapping[str, FileOrigin], root: str) -> OutputSide:
    """A side with paths below the folder of both runs."""
    lines = {
        _below(root, path): FileLines(
            origin.emitter, [(line.first, line.last, line.operator) for line in origin.lines], origin.text
        )
        for path, origin in origins.items()
    }
    return OutputSide(label, {_below(root, path): data for path, data in files.contents.items()}, lines)


def _below(root: str, path: str) -> str:
    return path.removeprefix(root).lstrip("/")
