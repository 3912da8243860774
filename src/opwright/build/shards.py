"""Shards: the fragments of many units spread over a fixed number of files, and all of them in one more.

A unit's shard depends on its key alone, so an edit of one operator touches one shard. Builds compile the numbered
shards; the file with everything is there to be read.
"""

from __future__ import annotations

import hashlib
from functools import lru_cache

__all__ = ["EVERYTHING", "is_everything", "shard_number", "shard_path"]

EVERYTHING = "Everything"
"""What the `shard_id` slot and the file name of the file with all units say."""


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
