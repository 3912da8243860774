"""Shards: the fragments of many units spread over a fixed number of files, and all of them in one more.

A unit's shard depends on its key alone, so an edit of one operator touches one shard. Builds compile the numbered
shards; the file with everything is there to be read.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from opwright.emit.emitter import Slots

__all__ = ["EVERYTHING", "Shard", "is_everything", "joined_slots", "merged_shards", "shard_number", "shard_path"]

EVERYTHING = "Everything"
"""What the `shard_id` slot and the file name of the file with all units say."""


class Shard(NamedTuple):
    """One file of a sharded family: its identity, as in its file name, and its slots."""

    shard_id: str
    slots: dict[str, str | list[str]]


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


def merged_shards(fragments: Iterable[tuple[str, Slots]], count: int, frame: Slots) -> Iterator[Shard]:
    """The file with everything, then each shard by number, from (key, fragment) of every unit in order.

    Each file has the slots of the frame, those of its units joined to them, and `shard_id`. A slot that units of
    other shards fill is an empty list.

    >>> shards = merged_shards([("add", {"body": ["f();"]}), ("sub", {"body": ["g();"]})], 3, {"ns": "at"})
    >>> [(shard.shard_id, shard.slots["body"]) for shard in shards]
    [('Everything', ['f();', 'g();']), ('_0', []), ('_1', ['g();']), ('_2', ['f();'])]
    """
    whole: list[Slots] = []
    parts: list[list[Slots]] = [[] for _ in range(count)]
    for key, fragment in fragments:
        whole.append(fragment)
        parts[shard_number(key, count)].append(fragment)
    everything = joined_slots(frame, whole)
    yield Shard(EVERYTHING, {**everything, "shard_id": EVERYTHING})
    unfilled: Slots = {**dict.fromkeys(everything, ()), **frame}
    for number, part in enumerate(parts):
        # A lone shard is the file with everything under another name.
        slots = everything if count == 1 else joined_slots(unfilled, part)
        yield Shard(f"_{number}", {**slots, "shard_id": f"_{number}"})


def joined_slots(frame: Slots, fragments: Iterable[Slots]) -> dict[str, str | list[str]]:
    """The slots of one file: those of its frame, with the texts of its units listed after the frame's own.

    A slot of the frame that no unit adds to stays as it is, so a text stays one text.

    >>> joined_slots({"ns": "at", "body": ["// first"]}, [{"body": "f();"}, {"body": ["g();", "h();"]}])
    {'ns': 'at', 'body': ['// first', 'f();', 'g();', 'h();']}
    """
    joined: dict[str, list[str]] = {}
    for fragment in fragments:
        for name, value in fragment.items():
            texts = joined.get(name)
            if texts is None:
                texts = joined[name] = _texts(frame.get(name, ()))
            if isinstance(value, str):
                texts.append(value)
            else:
                texts.extend(value)
    kept = {name: value if isinstance(value, str) else list(value) for name, value in frame.items()}
    return {**kept, **joined}


def _texts(value: str | Sequence[str]) -> list[str]:
    if isinstance(value, str):
        return [value] if value else []
    return list(value)
