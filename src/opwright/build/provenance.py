"""Where generated lines come from: for each file its emitter, and for each stretch of lines the entry it was made from.

It is read off the pieces of this run and the files as they are on disk; `line_owners` tells the overloads of one unit
apart, and whose the lines of frames are.
"""

from __future__ import annotations

import os
import re
from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from itertools import groupby
from typing import TYPE_CHECKING, Final, NamedTuple

from opwright.build.emitter_files import named_emitters
from opwright.build.file_spec import file_specs
from opwright.build.line_owners import NOBODY, FileSlotOwners, Owners, unit_owners
from opwright.build.chunk_spans import SlotSpans
from opwright.build.plan import Plan
from opwright.emit.emitter import AnyEmitter, FilePerUnit, Job
from opwright.model.derivatives import DifferentiabilityInfo, DifferentiableFunction
from opwright.model.native_function import NativeFunction, NativeFunctionsGroup, ViewGroup
from opwright.model.fingerprint_key import HasFingerprintKey
from opwright.source.text import SourceFile

if TYPE_CHECKING:
    from opwright.build.previous_build import EmitterState

__all__ = ["FileOrigin", "LineOrigin", "Sources", "origins"]

_MANY: Final = 4
"""A unit whose functions have more names than this is no unit of one operator; a view and its copies have three."""

_TAG: Final = re.compile(r"^- +tag: *(\w+)", re.MULTILINE)


class LineOrigin(NamedTuple):
    """Lines from first to last, and the entry that they were made from, of an operator or of a tag."""

    first: int
    last: int
    path: str
    line: int
    operator: str


class FileOrigin(NamedTuple):
    """The emitter of a file, and where its lines come from.

    Lines that several entries make together have an origin for each. Lines that no entry made have none.
    """

    emitter: str
    lines: tuple[LineOrigin, ...]


class Sources(NamedTuple):
    """What provenance is made from: the emitters and outputs of a run, how it made them, and templates by name."""

    emitters: Sequence[AnyEmitter]
    plan: Plan
    states: Mapping[str, EmitterState]
    template: Callable[[str], str]
    tags: SourceFile


class _Tag(NamedTuple):
    """A tag with its place."""

    file: SourceFile
    line: int
    name: str


def origins(job: Job, sources: Sources) -> dict[str, FileOrigin]:
    """The origin of each planned output, by its path."""
    targets = {(planned.folder, planned.path): planned.target for planned in sources.plan.outputs}
    text = sources.tags.text
    tags = {
        match.group(1): _Tag(sources.tags, text.count("\n", 0, match.start()) + 1, match.group(1))
        for match in _TAG.finditer(text)
    }
    frame_owners = FileSlotOwners(job, tags)
    found: dict[str, FileOrigin] = {}
    for name, emitter in named_emitters(sources.emitters):
        files = _EmitterFiles(job, emitter, sources.states.get(name))
        template = sources.template(emitter.template) if emitter.template is not None else ""
        own_lines = frozenset(line.strip() for line in template.split("\n"))
        for spec in file_specs(emitter, files.units):
            target = targets.get((spec.folder, spec.path))
            if target is None:
                continue
            with open(target, "rb") as stream:
                lines = stream.read().decode("utf-8", "replace").split("\n")
            owners = files.owners(spec.path, spec.units, lines)
            frame_owners.owners(lines, owners, own_lines, emitter)
            found[target] = FileOrigin(emitter.name, tuple(_line_origins(owners)))
    return found


class _EmitterFiles:
    """The units of an emitter, and which lines of its files they made."""

    def __init__(self, job: Job, emitter: AnyEmitter, state: EmitterState | None) -> None:
        self.units: Final[Sequence[object]] = emitter.units(job)
        self._job: Final = job
        self._emitter: Final = emitter
        self._state: Final = state
        self._functions: Final[dict[int, tuple[NativeFunction, ...]]] = {}
        self._alone: Final[dict[int, Mapping[str, Owners]]] = {}
        self._chunks: Final[dict[tuple[int, tuple[str, ...]], Sequence[Owners]]] = {}

    def owners(self, path: str, places: Sequence[int], lines: Sequence[str]) -> list[Owners]:
        """The owners of each line of a file, as far as its units tell."""
        owners: list[Owners] = [NOBODY] * len(lines)
        for place, first, last in self._stretches(path, places, lines):
            functions = self._functions_at(place)
            if len(functions) == 1:
                owners[first:last] = [functions] * (last - first)
            elif functions:
                owners[first:last] = self._owners_within(place, functions, tuple(lines[first:last]))
        return owners

    def _owners_within(
        self, place: int, functions: tuple[NativeFunction, ...], lines: tuple[str, ...]
    ) -> Sequence[Owners]:
        """The owners of a chunk's lines; of a sharded family each chunk stands in two files."""
        known = self._chunks.get((place, lines))
        if known is None:
            known = self._chunks[place, lines] = unit_owners(lines, functions, self._alone_at(place))
        return known

    def _stretches(self, path: str, places: Sequence[int], lines: Sequence[str]) -> Iterator[tuple[int, int, int]]:
        """The place of each unit in each slot, with the first of its lines and the one after the last."""
        if isinstance(self._emitter.layout, FilePerUnit):
            yield places[0], 0, len(lines)
            return
        spans = None if self._state is None else self._state.files.get(path)
        ends: list[int] = []
        size = 0
        for line in lines:
            size += len(line) + 1
            ends.append(size)
        gap = 0 if self._emitter.template is None else 1
        for slot in (spans.slots or ()) if spans is not None else ():
            yield from _slot_stretches(slot, places, ends, gap)

    def _functions_at(self, place: int) -> tuple[NativeFunction, ...]:
        functions = self._functions.get(place)
        if functions is None:
            functions = tuple(dict.fromkeys(_functions(self.units[place])))
            if len({one.root_name for one in functions}) > _MANY:
                functions = ()
            self._functions[place] = functions
        return functions

    def _alone_at(self, place: int) -> Mapping[str, Owners]:
        """The lines that the fragment of a unit has with each of its functions alone, and whose they are."""
        alone = self._alone.get(place)
        if alone is None:
            unit, functions = self.units[place], self._functions_at(place)
            made: dict[str, Owners] = {}
            if len(functions) > 1 and isinstance(unit, tuple):
                for function in functions:
                    for line in self._lines_alone(unit, function):
                        made[line] = (*made.get(line, NOBODY), function)
            alone = self._alone[place] = made
        return alone

    def _lines_alone(self, unit: tuple[object, ...], function: NativeFunction) -> set[str]:
        narrowed = _narrowed(unit, function)
        if narrowed is None:
            return set()
        slots = self._emitter.fragment(narrowed, self._job)
        texts = [text for value in slots.values() for text in ((value,) if isinstance(value, str) else value)]
        return {line.strip() for text in texts for line in text.split("\n")}


def _narrowed(unit: object, function: NativeFunction) -> object | None:
    """A unit with a function instead of all that it lists beside it; None where it does not list functions."""
    if not isinstance(unit, (tuple, list)):
        return None
    if all(isinstance(item, NativeFunction) for item in unit):
        return [item for item in unit if item is function]
    inner = [(place, _narrowed(item, function)) for place, item in enumerate(unit) if isinstance(item, (tuple, list))]
    if len(inner) != 1 or inner[0][1] is None or type(unit) is not tuple:
        return None
    place, item = inner[0]
    return (*unit[:place], item, *unit[place + 1 :])


def _slot_stretches(
    slot: SlotSpans, places: Sequence[int], ends: Sequence[int], gap: int
) -> Iterator[tuple[int, int, int]]:
    """The lines of each unit's chunk in a slot; chunks are `gap` line breaks apart. `ends` are where lines end."""
    lengths = array("i")
    lengths.frombytes(slot.lengths)
    at, line = slot.start, 0
    for place, length in zip(places, lengths, strict=True):
        if length < 0:
            continue
        while line < len(ends) and ends[line] <= at:
            line += 1
        first = line
        while line < len(ends) and ends[line] < at + length:
            line += 1
        if length:
            yield place, first, min(line + 1, len(ends))
        at += length + gap


def _line_origins(owners: Sequence[Owners]) -> Iterator[LineOrigin]:
    first = 1
    for group, lines in groupby(owners):
        count = sum(1 for _ in lines)
        for origin in _entries(group):
            yield LineOrigin(first, first + count - 1, *origin)
        first += count


@cache
def _entries(owners: Owners) -> Sequence[tuple[str, int, str]]:
    """Path, line and name of each entry of some owners; what was made stands for the entry it was made from."""
    entries: dict[tuple[str, int], str] = {}
    for owner in sorted(owners, key=lambda one: isinstance(one, NativeFunction) and one.is_synthesized):
        if isinstance(owner, NativeFunction):
            place, name = (os.path.abspath(owner.entry.file.path), owner.entry.line), owner.name.text
        elif isinstance(owner, _Tag):
            place, name = (os.path.abspath(owner.file.path), owner.line), owner.name
        else:
            continue
        entries.setdefault(place, name)
    return [(path, line, name) for (path, line), name in entries.items()]


def _functions(unit: object) -> Iterator[NativeFunction]:
    """The functions that a unit is made of."""
    if isinstance(unit, NativeFunction):
        yield unit
    elif isinstance(unit, (NativeFunctionsGroup, ViewGroup)):
        yield from unit.functions()
    elif isinstance(unit, (DifferentiabilityInfo, DifferentiableFunction)):
        yield unit.function
    elif isinstance(unit, (tuple, list)):
        for item in unit:
            yield from _functions(item)
    elif isinstance(unit, HasFingerprintKey):
        yield from _functions(unit.fingerprint_key)
