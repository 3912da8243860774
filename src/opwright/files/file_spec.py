"""Which files an emitter makes: the specs of its files, from its units and its layout. Nothing is rendered here.

Of a sharded family, the fragments are spread over a fixed number of files, and all of them stand in one more. A unit's
shard depends on its key alone, so an edit of one operator touches one shard. Builds compile the numbered shards; the
file with everything is there to be read.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from functools import lru_cache

from opwright.emit.emitter import AnyEmitter, FilePerUnit, OneFile
from opwright.source.named_tuple import NamedTuple

__all__ = ["EVERYTHING", "FileSpec", "file_specs", "is_everything", "shard_number", "shard_path"]

EVERYTHING = "Everything"
"""What the `shard_id` slot and the file name of the file with all units say."""


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


def shard_number(key: str, count: int) -> int:
    """Which of `count` shards a key belongs to, the same in every run: its SHA-1 as a little-endian number, modulo.

    >>> [shard_number(name, 5) for name in ("add", "sub", "mul")]
    [2, 4, 0]
    """
    return _stable_hash(key) % count


@lru_cache(maxsize=1 << 16)
def _stable_hash(key: str) -> int:
    # Names of operators are ASCII; a character that Latin-1 lacks is spelled out, so that any key has a shard.
    digest = hashlib.sha1(key.encode("latin-1", "backslashreplace"), usedforsecurity=False).digest()
    return int.from_bytes(digest, "little")


def shard_path(path: str, shard_id: str) -> str:
    """The path of one shard.

    >>> shard_path("RegisterCPU.cpp", "_3")
    'RegisterCPU_3.cpp'
    """
    folder, slash, name = path.rpartition("/")
    stem, dot, suffix = name.rpartition(".")
    return f"{folder}{slash}{stem}{shard_id}{dot}{suffix}" if stem else f"{path}{shard_id}"


def is_everything(path: str) -> bool:
    """Whether a path is that of the file with all units.

    >>> is_everything("RegisterCPUEverything.cpp"), is_everything("RegisterCPU_0.cpp")
    (True, False)
    """
    return path.rpartition("/")[2].rpartition(".")[0].endswith(EVERYTHING)
