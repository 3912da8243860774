"""From emitters to outputs: which files an emitter asks for, by its units and its layout.

An output is known by its path alone; the fragments that fill it are made when its slots are asked for. Fragments of
a sharded family are made once for all its files.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache, partial
from typing import TypeVar

from opwright.build.plan import Emitted, Output
from opwright.build.shards import EVERYTHING, Shard, joined_slots, merged_shards, shard_path
from opwright.emit.emitter import AnyEmitter, Emitter, FilePerUnit, Job, OneFile, Sharded, Slots

__all__ = ["emitted", "outputs_of"]

Unit = TypeVar("Unit")


def emitted(emitters: Iterable[AnyEmitter], job: Job) -> Iterator[Emitted]:
    """Each emitter's name with its outputs, for the engine."""
    for emitter in emitters:
        yield emitter.name, outputs_of(emitter, job)


def outputs_of(emitter: Emitter[Unit], job: Job) -> Iterator[Output]:
    """The files of one emitter, as its layout says; of a sharded family the file with everything comes first."""
    layout = emitter.layout
    if isinstance(layout, OneFile):
        yield Output(emitter.folder, layout.path, emitter.template, partial(_slots_of_all, emitter, job))
    elif isinstance(layout, FilePerUnit):
        yield from _outputs_per_unit(emitter, layout, job)
    else:
        yield from _sharded_outputs(emitter, layout, job)


def _outputs_per_unit(emitter: Emitter[Unit], layout: FilePerUnit[Unit], job: Job) -> Iterator[Output]:
    frame = cache(partial(_frame, emitter, job))
    folder, template = emitter.folder, emitter.template
    for unit in emitter.units(job):
        yield Output(folder, layout.path(unit), template, partial(_slots_of_unit, emitter, job, unit, frame))


def _sharded_outputs(emitter: Emitter[Unit], layout: Sharded[Unit], job: Job) -> Iterator[Output]:
    shards = cache(partial(_shards, emitter, layout, job))
    for position, shard_id in enumerate([EVERYTHING, *[f"_{number}" for number in range(layout.shards)]]):
        path = shard_path(layout.path, shard_id)
        yield Output(emitter.folder, path, emitter.template, partial(_slots_of_shard, emitter, job, shards, position))


def _frame(emitter: Emitter[Unit], job: Job) -> Slots:
    return emitter.frame(job) if emitter.frame is not None else {}


def _finished(emitter: Emitter[Unit], job: Job, slots: dict[str, str | list[str]]) -> Slots:
    return emitter.finish(slots, job) if emitter.finish is not None else slots


def _slots_of_all(emitter: Emitter[Unit], job: Job) -> Slots:
    fragments = [emitter.fragment(unit, job) for unit in emitter.units(job)]
    return _finished(emitter, job, joined_slots(_frame(emitter, job), fragments))


def _slots_of_unit(emitter: Emitter[Unit], job: Job, unit: Unit, frame: Callable[[], Slots]) -> Slots:
    around = frame()
    fragment = emitter.fragment(unit, job)
    if emitter.finish is None and around.keys().isdisjoint(fragment):
        return {**around, **fragment}
    return _finished(emitter, job, joined_slots(around, [fragment]))


def _shards(emitter: Emitter[Unit], layout: Sharded[Unit], job: Job) -> Sequence[Shard]:
    fragments = ((layout.key(unit), emitter.fragment(unit, job)) for unit in emitter.units(job))
    return list(merged_shards(fragments, layout.shards, _frame(emitter, job)))


def _slots_of_shard(emitter: Emitter[Unit], job: Job, shards: Callable[[], Sequence[Shard]], position: int) -> Slots:
    return _finished(emitter, job, shards()[position].slots)
