"""Generates a vendor's files from the inputs in its wheel, and compares them with those in the wheel."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import NamedTuple, Protocol

import opwright
from opwright.backends.choices import BackendHeaders
from opwright.emit.emitter import Options
from opwright.plugins.activation import use_plugins
from opwright.release.inputs import Inputs
from opwright.source.diagnostic import Diagnostic, Diagnostics, Severity
from opwright.source.text import SourceFile
from tests.vendor_replay.compare import FileComparison, compare_files
from tests.vendor_replay.vendors import PLUGINS, Group, Vendor


class Members(Protocol):
    """The members of a wheel."""

    def names(self, prefix: str = "") -> tuple[str, ...]:
        """The names of the members that begin with a text."""
        ...

    def read(self, names: list[str]) -> dict[str, bytes]:
        """The contents of members."""
        ...


class Replayed(NamedTuple):
    """The comparisons of a wheel, by group, and how many diagnostics of each code the run gave."""

    vendor: Vendor
    version: str
    groups: Mapping[Group, list[FileComparison]]
    left_out: Mapping[str, str]
    diagnostics: Mapping[str, int]
    notes: list[str]

    @property
    def comparisons(self) -> list[FileComparison]:
        """All comparisons."""
        return [comparison for group in self.groups.values() for comparison in group]

    @property
    def share(self) -> float:
        """How much of what the vendor declares is equal, from 0 to 1."""
        functions = sum(comparison.functions for comparison in self.comparisons)
        return sum(comparison.equal for comparison in self.comparisons) / functions if functions else 0.0


def replay_wheel(vendor: Vendor, version: str, wheel: Members, inputs: Inputs) -> Replayed:
    """Generate from the inputs in a wheel with PyTorch's own, and compare all groups of files."""
    members = wheel.names()
    groups = {group: {group.path(name): name for name in members if group.path(name)} for group in vendor.groups}
    more = [name for name in members if any(fnmatchcase(name, pattern) for pattern in vendor.inputs)]
    compared = [name for paths in groups.values() for name in paths.values()]
    contents = {name: text.decode() for name, text in wheel.read([vendor.backend, *more, *compared]).items()}
    texts = {name: SourceFile(f"{vendor.project}-{version}/{name}", contents[name]) for name in (vendor.backend, *more)}
    sink = Diagnostics()
    made = generate(vendor, inputs, texts, sink)
    theirs = {path: contents[name] for paths in groups.values() for path, name in paths.items()}
    comparisons = {comparison.path: comparison for comparison in compare_files(theirs, made)}
    return Replayed(
        vendor,
        version,
        {group: [comparisons[path] for path in paths] for group, paths in groups.items() if paths},
        {name: reason for name, reason in vendor.left_out if name in members},
        Counter(diagnostic.code for diagnostic in sink),
        [note_line(diagnostic) for diagnostic in sink.sorted() if diagnostic.severity is Severity.NOTE],
    )


def note_line(note: Diagnostic) -> str:
    """What a note says, after its file and line."""
    span = note.labels[0].span
    return f"{span.file.path}:{span.line}: {note.message}"


def generate(vendor: Vendor, inputs: Inputs, texts: Mapping[str, SourceFile], sink: Diagnostics) -> dict[str, str]:
    """The files that Opwright makes from a vendor's inputs with its plug-ins, by path."""
    plugins = use_plugins(*[str(PLUGINS / name) for name in vendor.plugins])
    with tempfile.TemporaryDirectory() as folder:
        request = opwright.Request(
            inputs,
            opwright.build_folders(folder, vendor.families),
            families=vendor.families,
            options=Options(guests=(BackendHeaders(vendor.include_folder),)),
            backends=(texts[vendor.backend],),
            input_files=tuple([text for name, text in texts.items() if name != vendor.backend]),
            plugins=plugins,
        )
        opwright.Generation(request, sink).write()
        paths = [path for path in Path(folder).rglob("*") if path.is_file()]
        return {path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8") for path in paths}
