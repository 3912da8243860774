"""Which files an emitter makes: the specs of its files, from its units and its layout. Nothing is rendered here."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from opwright.build.shards import EVERYTHING, shard_number, shard_path
from opwright.emit.emitter import AnyEmitter, FilePerUnit, OneFile
from opwright.source.named_tuple import NamedTuple

__all__ = ["FileSpec", "file_specs"]


class FileSpec(NamedTuple):
    """A file that an emitter makes: its path in one of the output folders, its shard, and the indices of its units.

    `shard` is `Everything` or `_0`, `_1` ...; it is empty for a file that is not one of several shards.
    """

    folder: str
    path: str
    shard: str
    units: Sequence[int]


def file_specs(emitter: AnyEmitter, units: Sequence[object]) -> Iterator[FileSpec]:
    """The files of an emitter, as its layout says. Of a sharded family the file with everything comes first.

    >>> from opwright.emit.emitter import Emitter, Sharded
    >>> emitter = Emitter(
    ...     name="names",
    ...     family="notes",
    ...     template=None,
    ...     units=lambda job: ("add", "sub", "mul"),
    ...     fragment=lambda name, context: {"text": f"{name}\\n"},
    ...     layout=Sharded("names.txt", 2, key=lambda name: name),
    ... )
    >>> [(spec.path, list(spec.units)) for spec in file_specs(emitter, ("add", "sub", "mul"))]
    [('namesEverything.txt', [0, 1, 2]), ('names_0.txt', [0, 2]), ('names_1.txt', [1])]
    """
    layout, folder = emitter.layout, emitter.folder
    every = range(len(units))
    if isinstance(layout, FilePerUnit):
        for number, unit in enumerate(units):
            yield FileSpec(folder, layout.path(unit), "", (number,))
    elif isinstance(layout, OneFile):
        yield FileSpec(folder, layout.path, "", every)
    else:
        shards: list[list[int]] = [[] for _ in range(layout.shards)]
        for number, unit in enumerate(units):
            shards[shard_number(layout.key(unit), layout.shards)].append(number)
        yield FileSpec(folder, shard_path(layout.path, EVERYTHING), EVERYTHING, every)
        for shard, numbers in enumerate(shards):
            yield FileSpec(folder, shard_path(layout.path, f"_{shard}"), f"_{shard}", numbers)
