"""Shards: the fragments of many units spread over a fixed number of files, and all of them in one more.

A unit's shard depends on its key alone, so an edit of one operator touches one shard. Builds compile the numbered
shards; the file with everything is there to be read.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from opwright.build.template import Slots, SlotValue

__all__ = ["EVERYTHING", "Shard", "is_everything", "merged_shards", "shard_number", "shard_path"]

EVERYTHING = "Everything"
"""What the `shard_id` slot and the file name of the file with all units say."""


class Shard(NamedTuple):
    """One file of a sharded family: its identity, as in its file name, and its slots."""

    shard_id: str
    slots: Slots


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


def merged_shards(
    fragments: Iterable[tuple[str, Mapping[str, Sequence[str]]]],
    count: int,
    sharded: Collection[str],
    common: Slots,
) -> Iterator[Shard]:
    """The file with everything, then each shard by number, from (key, slot lists) of every unit in order.

    `sharded` names the slots that units may add to; one that `common` gives too starts with the texts given there.
    All other slots come from `common`, and `shard_id` is added to them. A unit that gives another slot is a bug of
    its emitter: ValueError.

    >>> shards = merged_shards([("add", {"body": ["f();"]}), ("sub", {"body": ["g();"]})], 5, ["body"], {"ns": "at"})
    >>> [(shard.shard_id, shard.slots["body"]) for shard in shards][:4]
    [('Everything', ['f();', 'g();']), ('_0', []), ('_1', []), ('_2', ['f();'])]
    """
    start = {name: _as_list(common.get(name, ())) for name in sharded}
    everything = _copied(start)
    shards = (
        [everything] if count == 1 else [{name: list(texts) for name, texts in start.items()} for _ in range(count)]
    )
    for key, fragment in fragments:
        _add(everything, fragment)
        if count > 1:
            _add(shards[shard_number(key, count)], fragment)
    yield Shard(EVERYTHING, {**common, **everything, "shard_id": EVERYTHING})
    for number, slots in enumerate(shards):
        yield Shard(f"_{number}", {**common, **slots, "shard_id": f"_{number}"})


def _as_list(value: SlotValue) -> list[str]:
    if isinstance(value, str):
        raise ValueError("a slot that units add to starts as a list of texts, not as one text")
    return list(value)


def _copied(slots: Mapping[str, list[str]]) -> dict[str, list[str]]:
    return {name: list(texts) for name, texts in slots.items()}


def _add(slots: dict[str, list[str]], fragment: Mapping[str, Sequence[str]]) -> None:
    for name, texts in fragment.items():
        if name not in slots:
            raise ValueError(f"a unit gives slot {name!r}, which is not among the sharded slots {sorted(slots)}")
        slots[name].extend(texts)
