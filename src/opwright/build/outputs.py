"""From emitters to outputs: which files an emitter asks for, with slots that are made only when they are needed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from opwright.build.shards import EVERYTHING, Shard, merged_shards, shard_path
from opwright.build.template import Slots
from opwright.emit.emitter import AnyEmitter, FilePerUnit, Job, OneFile, Sharded

__all__ = ["EmittedOutput", "emitted"]


class EmittedOutput(NamedTuple):
    """A file that an emitter asks for; `slots` makes the values of its template's slots."""

    folder: str
    path: str
    template: str | None
    slots: Callable[[], Slots]


def emitted(emitters: Iterable[AnyEmitter], job: Job) -> Iterator[tuple[str, Iterable[EmittedOutput]]]:
    """The outputs of each emitter, in the form that the engine takes."""
    for emitter in emitters:
        yield emitter.name, outputs_of(emitter, job)


def outputs_of(emitter: AnyEmitter, job: Job) -> Iterator[EmittedOutput]:
    """The outputs of one emitter in the order in which they are written."""
    layout = emitter.layout
    if isinstance(layout, OneFile):
        yield EmittedOutput(emitter.folder, layout.path, emitter.template, lambda: _whole(emitter, job))
    elif isinstance(layout, FilePerUnit):
        frame = dict(emitter.frame(job)) if emitter.frame is not None else {}
        for unit in emitter.units(job):
            slots = _slots_of_unit(emitter, job, frame, unit)
            yield EmittedOutput(emitter.folder, layout.path(unit), emitter.template, slots)
    else:
        yield from _sharded(emitter, job, layout)


def _frame(emitter: AnyEmitter, job: Job) -> dict[str, str | list[str]]:
    frame = emitter.frame(job) if emitter.frame is not None else {}
    return {name: value if isinstance(value, str) else list(value) for name, value in frame.items()}


def _finished(emitter: AnyEmitter, job: Job, slots: dict[str, str | list[str]]) -> Slots:
    return emitter.finish(slots, job) if emitter.finish is not None else slots


def _whole(emitter: AnyEmitter, job: Job) -> Slots:
    """The slots of a file that holds all units."""
    slots = _frame(emitter, job)
    for unit in emitter.units(job):
        for name, texts in emitter.fragment(unit, job).items():
            _extend(emitter, slots, name, texts)
    return _finished(emitter, job, slots)


def _extend(emitter: AnyEmitter, slots: dict[str, str | list[str]], name: str, texts: str | Sequence[str]) -> None:
    into = slots.setdefault(name, [])
    if isinstance(into, str) or isinstance(texts, str):
        raise TypeError(f"emitter {emitter.name} gives slot {name} as one text where several units add to it")
    into.extend(texts)


def _slots_of_unit(emitter: AnyEmitter, job: Job, frame: Slots, unit: object) -> Callable[[], Slots]:
    def slots() -> Slots:
        made = {**frame, **emitter.fragment(unit, job)}
        if emitter.finish is None:
            return made
        return emitter.finish({name: v if isinstance(v, str) else list(v) for name, v in made.items()}, job)

    return slots


def _sharded(emitter: AnyEmitter, job: Job, layout: Sharded[object]) -> Iterator[EmittedOutput]:
    """The file with everything, then the shards; the fragments are made once, when the first file needs them."""
    made: dict[str, Shard] = {}

    def slots_of(shard_id: str) -> Callable[[], Slots]:
        def slots() -> Slots:
            if not made:
                made.update((shard.shard_id, shard) for shard in _shards(emitter, job, layout))
            slots = made.pop(shard_id).slots
            return _finished(emitter, job, {n: v if isinstance(v, str) else list(v) for n, v in slots.items()})

        return slots

    for shard_id in (EVERYTHING, *(f"_{number}" for number in range(layout.shards))):
        path = shard_path(layout.path, shard_id)
        yield EmittedOutput(emitter.folder, path, emitter.template, slots_of(shard_id))


def _shards(emitter: AnyEmitter, job: Job, layout: Sharded[object]) -> Iterator[Shard]:
    frame = _frame(emitter, job)
    fragments: list[tuple[str, dict[str, Sequence[str]]]] = []
    sharded = {name for name, value in frame.items() if not isinstance(value, str)}
    for unit in emitter.units(job):
        fragment = {name: texts for name, texts in emitter.fragment(unit, job).items() if not isinstance(texts, str)}
        sharded.update(fragment)
        fragments.append((layout.key(unit), fragment))
    return merged_shards(fragments, layout.shards, sorted(sharded), frame)
