"""Where generated lines come from: the emitter of each file, and the entry of each range of lines.

Provenance is computed from the chunk spans of the run and the files on disk. `line_owners` tells the overloads of one
unit apart, and finds the owners of lines from file slots.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from itertools import groupby
from typing import TYPE_CHECKING, Final

from opwright.emit.emitter import AnyEmitter, FilePerUnit, HasFingerprintKey, Job
from opwright.files.file_spec import file_specs
from opwright.files.plan import Plan
from opwright.incremental.emitter_files import named_emitters
from opwright.incremental.patch import SlotSpans
from opwright.model.derivatives import DifferentiabilityInfo, DifferentiableFunction
from opwright.model.native_function import NativeFunction, NativeFunctionsGroup, ViewGroup
from opwright.run.line_owners import NOBODY, FileSlotOwners, Owners, unit_owners
from opwright.source.named_tuple import NamedTuple
from opwright.source.text import SourceFile

if TYPE_CHECKING:
    from opwright.incremental.previous_build import EmitterState

__all__ = [
    "FileOrigin",
    "LineOrigin",
    "Sources",
    "all_functions_of_unit",
    "functions_of_unit",
    "lines_alone",
    "origins",
]

_MANY: Final = 4
"""A unit whose functions have more names than this is not about one operator; a view and its copies have three."""

_TAG: Final = re.compile(r"^- +tag: *(\w+)", re.MULTILINE)


class LineOrigin(NamedTuple):
    """A range of lines, first and last included, and the entry of the operator or tag that they were made from."""

    first: int
    last: int
    path: str
    line: int
    operator: str


class FileOrigin(NamedTuple):
    """The emitter of a file, and where its lines come from.

    Lines that several entries make together have an origin for each. Other lines may have none.
    """

    emitter: str
    lines: tuple[LineOrigin, ...]


class Sources(NamedTuple):
    """What provenance is computed from: the emitters of a run, its plan and its states, and templates by name."""

    emitters: Sequence[AnyEmitter]
    plan: Plan
    states: Mapping[str, EmitterState]
    template: Callable[[str], str]
    tags: SourceFile


class _Tag(NamedTuple):
    """A tag and the line of its entry."""

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
    file_slot_owners = FileSlotOwners(job, tags)
    file_origins: dict[str, FileOrigin] = {}
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
            file_slot_owners.complete(owners, lines, own_lines, emitter)
            file_origins[target] = FileOrigin(emitter.name, tuple(_line_origins(owners)))
    return file_origins


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

    def owners(self, path: str, numbers: Sequence[int], lines: Sequence[str]) -> list[Owners]:
        """The owners of each line of a file, as far as its units tell."""
        owners: list[Owners] = [NOBODY] * len(lines)
        for number, first, last in self._line_ranges(path, numbers, lines):
            functions = self._functions_of(number)
            if len(functions) == 1:
                owners[first:last] = [functions] * (last - first)
            elif functions:
                owners[first:last] = self._owners_within(number, functions, tuple(lines[first:last]))
        return owners

    def _owners_within(
        self, number: int, functions: tuple[NativeFunction, ...], lines: tuple[str, ...]
    ) -> Sequence[Owners]:
        """The owners of a chunk's lines; of a sharded family each chunk stands in two files."""
        owners = self._chunks.get((number, lines))
        if owners is None:
            owners = self._chunks[number, lines] = unit_owners(lines, functions, self._alone_of(number))
        return owners

    def _line_ranges(self, path: str, numbers: Sequence[int], lines: Sequence[str]) -> Iterator[tuple[int, int, int]]:
        """The number of each unit in each slot, the first of its lines, and the line after the last."""
        if isinstance(self._emitter.layout, FilePerUnit):
            yield numbers[0], 0, len(lines)
            return
        spans = None if self._state is None else self._state.files.get(path)
        ends: list[int] = []
        size = 0
        for line in lines:
            size += len(line) + 1
            ends.append(size)
        gap = 0 if self._emitter.template is None else 1
        for slot in (spans.slots or ()) if spans is not None else ():
            yield from _slot_line_ranges(slot, numbers, ends, gap)

    def _functions_of(self, number: int) -> tuple[NativeFunction, ...]:
        functions = self._functions.get(number)
        if functions is None:
            functions = self._functions[number] = functions_of_unit(self.units[number])
        return functions

    def _alone_of(self, number: int) -> Mapping[str, Owners]:
        """The lines of the unit's fragment with each of its functions alone, and their owners."""
        alone = self._alone.get(number)
        if alone is None:
            alone = lines_alone(self.units[number], self._functions_of(number), self._emitter, self._job)
            self._alone[number] = alone
        return alone


def lines_alone(
    unit: object, functions: Sequence[NativeFunction], emitter: AnyEmitter, job: Job
) -> Mapping[str, Owners]:
    """The lines of a unit's fragment with each of its functions alone, and their owners."""
    owners: dict[str, Owners] = {}
    if len(functions) > 1 and isinstance(unit, tuple):
        for function in functions:
            for line in _lines_of_one(unit, function, emitter, job):
                owners[line] = (*owners.get(line, NOBODY), function)
    return owners


def _lines_of_one(unit: tuple[object, ...], function: NativeFunction, emitter: AnyEmitter, job: Job) -> set[str]:
    narrowed = _narrow(unit, function)
    if narrowed is None:
        return set()
    slots = emitter.fragment(narrowed, job)
    texts = [text for value in slots.values() for text in ((value,) if isinstance(value, str) else value)]
    return {line.strip() for text in texts for line in text.split("\n")}


def _narrow(unit: object, function: NativeFunction) -> object | None:
    """A unit with a function instead of all that it lists beside it; None where it does not list functions."""
    if not isinstance(unit, (tuple, list)):
        return None
    if all(isinstance(item, NativeFunction) for item in unit):
        return [item for item in unit if item is function]
    inner = [(number, _narrow(item, function)) for number, item in enumerate(unit) if isinstance(item, (tuple, list))]
    if len(inner) != 1 or inner[0][1] is None or type(unit) is not tuple:
        return None
    number, item = inner[0]
    return (*unit[:number], item, *unit[number + 1 :])


def _slot_line_ranges(
    slot: SlotSpans, numbers: Sequence[int], ends: Sequence[int], gap: int
) -> Iterator[tuple[int, int, int]]:
    """The lines of each unit's chunk in a slot; chunks are `gap` line breaks apart. `ends` are where lines end."""
    at, line = slot.start, 0
    for number, length in zip(numbers, slot.unit_lengths(), strict=True):
        if length < 0:
            continue
        while line < len(ends) and ends[line] <= at:
            line += 1
        first = line
        while line < len(ends) and ends[line] < at + length:
            line += 1
        if length:
            yield number, first, min(line + 1, len(ends))
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
    """Path, line and name of each entry of some owners; a synthesized function counts for the entry it came from."""
    entries: dict[tuple[str, int], str] = {}
    for owner in sorted(owners, key=lambda owner: isinstance(owner, NativeFunction) and owner.is_synthesized):
        if isinstance(owner, NativeFunction):
            entry, name = (os.path.abspath(owner.entry.file.path), owner.entry.line), owner.name.text
        elif isinstance(owner, _Tag):
            entry, name = (os.path.abspath(owner.file.path), owner.line), owner.name
        else:
            continue
        entries.setdefault(entry, name)
    return [(path, line, name) for (path, line), name in entries.items()]


def functions_of_unit(unit: object) -> tuple[NativeFunction, ...]:
    """The functions that a unit is made of; none if it is not about one operator."""
    functions = tuple(dict.fromkeys(all_functions_of_unit(unit)))
    return () if len({function.root_name for function in functions}) > _MANY else functions


def all_functions_of_unit(unit: object) -> Iterator[NativeFunction]:
    """The functions that a unit is made of."""
    if isinstance(unit, NativeFunction):
        yield unit
    elif isinstance(unit, (NativeFunctionsGroup, ViewGroup)):
        yield from unit.functions()
    elif isinstance(unit, (DifferentiabilityInfo, DifferentiableFunction)):
        yield unit.function
    elif isinstance(unit, (tuple, list)):
        for item in unit:
            yield from all_functions_of_unit(item)
    elif isinstance(unit, HasFingerprintKey):
        yield from all_functions_of_unit(unit.fingerprint_key)
