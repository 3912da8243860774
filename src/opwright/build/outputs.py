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

__all__ = ["emitted", "frame_of", "joined_and_finished", "outputs_of"]

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
    frame = cache(partial(frame_of, emitter, job))
    folder, template = emitter.folder, emitter.template
    for unit in emitter.units(job):
        yield Output(folder, layout.path(unit), template, partial(_slots_of_unit, emitter, job, unit, frame))


def _sharded_outputs(emitter: Emitter[Unit], layout: Sharded[Unit], job: Job) -> Iterator[Output]:
    shards = cache(partial(_shards, emitter, layout, job))
    for position, shard_id in enumerate([EVERYTHING, *[f"_{number}" for number in range(layout.shards)]]):
        path = shard_path(layout.path, shard_id)
        yield Output(emitter.folder, path, emitter.template, partial(_slots_of_shard, emitter, job, shards, position))


def frame_of(emitter: Emitter[Unit], job: Job) -> Slots:
    """The slots that belong to a file of an emitter and not to a unit."""
    return emitter.frame(job) if emitter.frame is not None else {}


def _finished(emitter: Emitter[Unit], job: Job, slots: dict[str, str | list[str]]) -> Slots:
    return emitter.finish(slots, job) if emitter.finish is not None else slots


def joined_and_finished(emitter: Emitter[Unit], job: Job, frame: Slots, fragments: Sequence[Slots]) -> Slots:
    """The slots of a file: those of its frame with the fragments of its units, and the emitter's last hand on them."""
    if emitter.finish is None and len(fragments) == 1 and frame.keys().isdisjoint(fragments[0]):
        return {**frame, **fragments[0]}
    return _finished(emitter, job, joined_slots(frame, fragments))


def _slots_of_all(emitter: Emitter[Unit], job: Job) -> Slots:
    fragments = [emitter.fragment(unit, job) for unit in emitter.units(job)]
    return joined_and_finished(emitter, job, frame_of(emitter, job), fragments)


def _slots_of_unit(emitter: Emitter[Unit], job: Job, unit: Unit, frame: Callable[[], Slots]) -> Slots:
    return joined_and_finished(emitter, job, frame(), [emitter.fragment(unit, job)])


def _shards(emitter: Emitter[Unit], layout: Sharded[Unit], job: Job) -> Sequence[Shard]:
    fragments = ((layout.key(unit), emitter.fragment(unit, job)) for unit in emitter.units(job))
    return list(merged_shards(fragments, layout.shards, frame_of(emitter, job)))


def _slots_of_shard(emitter: Emitter[Unit], job: Job, shards: Callable[[], Sequence[Shard]], position: int) -> Slots:
    return _finished(emitter, job, shards()[position].slots)
