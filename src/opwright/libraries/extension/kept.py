"""Results of builds that the user's cache keeps, each with the state of all that it depends on.

What a result is made from is known in two parts. Its key is made from what the build is asked for, such as texts and
flags. Which files it reads besides, the build itself finds out: the record of a key has their stamps, and the name of
a result has their contents. Results are never replaced, since other processes may use them.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import stat
from collections.abc import Iterable
from hashlib import sha256
from typing import Final, NamedTuple

from opwright.files.staging import read_checked_state, replace_checked_state
from opwright.incremental.identity import UNKNOWN, InputStamps
from opwright.libraries.library_codes import CACHE_OF_OTHERS
from opwright.release.user_cache import cache_folder
from opwright.source.diagnostic import Fault

_HELP: Final = "remove it, or set `OPWRIGHT_CACHE_DIR` to a folder of your own"
_FORMAT: Final = "opwright-kept 1"


def code_cache(*names: str) -> str:
    """A folder of the user's cache for results that run, with names below it; made so that others cannot write there.

    Raises Fault (E1211) if others can: what they put there would run.
    """
    top = os.path.join(cache_folder(), "inline")
    os.makedirs(cache_folder(), exist_ok=True)
    with contextlib.suppress(FileExistsError):
        os.mkdir(top, 0o700)
    if hasattr(os, "geteuid"):
        for path, shared in ((cache_folder(), stat.S_ISVTX), (top, 0)):
            status = os.stat(path)
            # Where a sticky folder is writable, others cannot replace what is in it.
            is_shared = status.st_mode & 0o022 and not status.st_mode & shared
            if is_shared or (path == top and {status.st_uid, os.lstat(path).st_uid} != {os.geteuid()}):
                owner = "others can write" if is_shared else "another user owns"
                message = f"{owner} `{path}`, from which code is loaded"
                raise Fault.at(CACHE_OF_OTHERS, message, help=_HELP)
    folder = os.path.join(top, *names)
    os.makedirs(folder, exist_ok=True)
    return folder


class KeptResult(NamedTuple):
    """Path of a result, and the stamps of what it depends on."""

    path: str
    stamps: InputStamps


def short_hash(*texts: str) -> str:
    """A name for some texts that other texts do not have.

    >>> len(short_hash("a", "b")), short_hash("a", "b") == short_hash("ab")
    (24, False)
    """
    return sha256("\0".join(texts).encode()).hexdigest()[:24]


def find_kept(folder: str, key: str) -> KeptResult | None:
    """Result that was kept for a key and for the files as they are now; None if there is none."""
    try:
        body = read_checked_state(_record(folder, key), _FORMAT)
        stamps = InputStamps.from_manifest(*json.loads(body))
    except (OSError, TypeError, ValueError):
        return None
    is_current = stamps.are_current()
    if not is_current:
        # The files may be as they were for an earlier result.
        stamps = InputStamps.take(stamps.files, stamps.folders)
    path = _path(folder, key, stamps)
    if not os.path.exists(path):
        return None
    if not is_current or stamps.has_new_stamps:
        _write_record(folder, key, stamps)
    return KeptResult(path, stamps)


def keep(folder: str, key: str, stamps: InputStamps, fresh: str) -> KeptResult:
    """Move a fresh result, a file or a folder, to where `find_kept` looks for it.

    If a file changed while the result was made, the next build regenerates it.
    """
    # No other result has the name that it has meanwhile.
    path = _path(folder, short_hash(fresh) + key if _has_unknown(stamps) else key, stamps)
    with contextlib.suppress(OSError):
        # Without locks, another process may have been faster.
        os.rename(fresh, path)
    if not _has_unknown(stamps):
        _write_record(folder, key, stamps)
    return KeptResult(path, stamps)


def with_others(stamps: InputStamps, others: Iterable[InputStamps]) -> InputStamps:
    """Stamps, and those of others."""
    together = InputStamps(stamps.files, stamps.folders)
    for other in others:
        together.files.update(other.files)
        together.folders.update(other.folders)
    return together


def _has_unknown(stamps: InputStamps) -> bool:
    """Whether it is not known with which contents a file was read, or which names a folder had."""
    states = (*stamps.files.values(), *stamps.folders.values())
    return any(state is not None and len(state) > 0 and state[-1] == UNKNOWN for state in states)


def _record(folder: str, key: str) -> str:
    return os.path.join(folder, f"{key}.depends")


def _write_record(folder: str, key: str, stamps: InputStamps) -> None:
    replace_checked_state(_record(folder, key), _FORMAT, json.dumps([stamps.files, stamps.folders]).encode())


def _path(folder: str, key: str, stamps: InputStamps) -> str:
    contents = {path: stamp and stamp[-1] for path, stamp in stamps.files.items()}
    name = short_hash(key, json.dumps([contents, stamps.folders], sort_keys=True))
    return os.path.join(folder, name + os.path.splitext(key)[1])


def read_dependencies(path: str, folder: str) -> list[str]:
    r"""Files that a compiler's dependency file names, apart from those below the folder that it ran in.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "k.d")
    ...     with open(path, "w", encoding="utf-8") as stream:
    ...         _ = stream.write("k.o: k.cpp \\\n /a\\ b.h /c$$.h\n")
    ...     read_dependencies(path, folder)
    ['/a b.h', '/c$.h']
    """
    with open(path, encoding="utf-8", errors="surrogateescape") as stream:
        words = re.findall(r"(?:\\[^\n]|[^\\\s])+", stream.read().partition(": ")[2].replace("\\\n", " "))
    named = [os.path.join(folder, re.sub(r"\\(.)", r"\1", word).replace("$$", "$")) for word in words]
    below = (folder + os.sep, os.path.realpath(folder) + os.sep)
    return [path for path in map(os.path.normpath, named) if not path.startswith(below)]
