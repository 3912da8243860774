"""Where generated lines come from: for each file its emitter, and for each stretch of lines the entry it was made from.

It is read off the pieces that a run remembers and the files as they are on disk.
"""

from __future__ import annotations

import os
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from opwright.build.incremental import named_emitters, placed_units
from opwright.build.pieces import SlotPieces
from opwright.build.plan import Plan
from opwright.emit.emitter import AnyEmitter, FilePerUnit, Job
from opwright.model.derivatives import DifferentiabilityInfo
from opwright.model.native_function import NativeFunction, NativeFunctionsGroup, ViewGroup

if TYPE_CHECKING:
    from opwright.build.past import EmitterPast

__all__ = ["FileOrigin", "LineOrigin", "origins"]


_MANY: Final = 4
"""A unit whose functions have more names than this is no unit of one operator; a view and its copies have three."""


class LineOrigin(NamedTuple):
    """Lines from first to last, and the entry that they were made from."""

    first: int
    last: int
    path: str
    line: int
    operator: str


class FileOrigin(NamedTuple):
    """The emitter of a file, and where its lines come from; lines that no entry made are in no stretch."""

    emitter: str
    lines: tuple[LineOrigin, ...]


def origins(
    job: Job, emitters: Iterable[AnyEmitter], plan: Plan, past: Mapping[str, EmitterPast]
) -> dict[str, FileOrigin]:
    """The origin of each planned output, by its path."""
    targets = {(planned.folder, planned.path): planned.target for planned in plan.outputs}
    found: dict[str, FileOrigin] = {}
    for name, emitter in named_emitters(emitters):
        units = emitter.units(job)
        known = past.get(name)
        for path, _, places in placed_units(emitter, units):
            target = targets.get((emitter.folder, path))
            if target is None:
                continue
            if isinstance(emitter.layout, FilePerUnit):
                lines = list(_whole_file(target, units[places[0]]))
            else:
                pieces = known.files.get(path) if known is not None else None
                chosen = [units[place] for place in places]
                gap = 0 if emitter.template is None else 1
                lines = list(_stretches(target, chosen, pieces.slots or (), gap)) if pieces is not None else []
            found[target] = FileOrigin(emitter.name, tuple(lines))
    return found


def _whole_file(target: str, unit: object) -> Iterator[LineOrigin]:
    function = _function(unit)
    if function is not None:
        with open(target, "rb") as stream:
            yield _origin(1, max(stream.read().count(b"\n"), 1), function)


def _stretches(target: str, units: Sequence[object], slots: Iterable[SlotPieces], gap: int) -> Iterator[LineOrigin]:
    """The stretches of a file's units, whose chunks are `gap` line breaks apart."""
    with open(target, "rb") as stream:
        text = stream.read()
    for slot in slots:
        lengths = array("i")
        lengths.frombytes(slot.lengths)
        at, line = slot.start, text.count(b"\n", 0, slot.start) + 1
        for unit, length in zip(units, lengths, strict=True):
            if length < 0:
                continue
            breaks = text.count(b"\n", at, at + length)
            function = _function(unit)
            if function is not None:
                # Without a gap, the line break at the end of a chunk is its own.
                yield _origin(line, line + breaks - (not gap), function)
            at, line = at + length + gap, line + breaks + gap


def _origin(first: int, last: int, function: NativeFunction) -> LineOrigin:
    entry = function.entry
    return LineOrigin(first, last, os.path.abspath(entry.file.path), entry.line, function.name.text)


def _function(unit: object) -> NativeFunction | None:
    """The function whose entry a unit is made from: the first one that is written, not made.

    None for a unit of many operators, which points to no entry.
    """
    functions = list(_functions(unit))
    if len(functions) > _MANY and len({one.root_name for one in functions}) > _MANY:
        return None
    written = [one for one in functions if not one.is_synthesized]
    return next(iter(written or functions), None)


def _functions(unit: object) -> Iterator[NativeFunction]:
    if isinstance(unit, NativeFunction):
        yield unit
    elif isinstance(unit, (NativeFunctionsGroup, ViewGroup)):
        yield from unit.functions()
    elif isinstance(unit, DifferentiabilityInfo):
        yield unit.function
    elif isinstance(unit, (tuple, list)):
        for item in unit:
            yield from _functions(item)
