"""Removal of what runs leave behind: outputs that are made no longer, and staging folders of runs that were killed."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Collection, Iterable, Mapping
from json import loads

from opwright.build.record import Record, Run, replace_state
from opwright.build.writer import STAGING_PREFIX

__all__ = ["forget_gone_folders", "prune", "remove_stale_staging", "stale_outputs"]

_HOME_FILE = "folder"
"""The file that says whose state it is, in state folders that stand apart from their output folders."""


def stale_outputs(
    run: Run, earlier: Record, others: Iterable[Record], made: Collection[str], roots: Iterable[str]
) -> set[str]:
    """The files that the earlier run of the same kind made and this one does not make.

    A file that a run of another kind made too is none of them, unless all that such runs make this one makes as well.
    Nothing outside the run's folders is one, whatever the record says.
    """
    gone = earlier.outputs.keys() - set(made)
    for other in others:
        if not _covers(run, other):
            gone -= other.outputs.keys()
    prefixes = tuple(f"{os.path.realpath(root).replace(os.sep, '/')}/" for root in roots)
    return {path for path in gone if path.startswith(prefixes) and "/../" not in path}


def prune(paths: Iterable[str]) -> int:
    """Removes files, and counts those that were there."""
    removed = 0
    for path in paths:
        with contextlib.suppress(OSError):
            os.unlink(path)
            removed += 1
    return removed


def _covers(run: Run, other: Record) -> bool:
    """Whether a run makes whatever runs of the other kind make: the same folders, and at least their families."""
    mine: Mapping[str, object] = loads(run.kind)
    its: Mapping[str, object] = loads(other.kind)
    families = its.get("families")
    same = {name: value for name, value in mine.items() if name != "families"} == {
        name: value for name, value in its.items() if name != "families"
    }
    return same and isinstance(families, list) and set(run.families).issuperset(families)


def remove_stale_staging(folders: Iterable[str]) -> None:
    """Removes the staging folders of processes that run no longer."""
    for folder in folders:
        with contextlib.suppress(OSError), os.scandir(folder) as entries:
            for entry in entries:
                if entry.name.startswith(STAGING_PREFIX) and not _is_running(entry):
                    _remove(entry.path)


def forget_gone_folders(run: Run) -> None:
    """Removes from the user's cache what is remembered of output folders that are there no longer.

    For a run whose state stands apart; nothing else would ever remove the state of a deleted build.
    """
    if not run.apart:
        return
    replace_state(os.path.join(run.state_folder, _HOME_FILE), os.path.realpath(run.home).encode(*_PATH_BYTES))
    with contextlib.suppress(OSError), os.scandir(os.path.dirname(run.state_folder)) as entries:
        for entry in entries:
            with contextlib.suppress(OSError), open(os.path.join(entry.path, _HOME_FILE), "rb") as stream:
                if not os.path.isdir(stream.read().decode(*_PATH_BYTES)):
                    _remove(entry.path)


_PATH_BYTES = ("utf-8", "surrogateescape")


def _is_running(entry: os.DirEntry[str]) -> bool:
    """Whether the process that a staging folder is named after may still run."""
    number = entry.name[len(STAGING_PREFIX) :].partition("-")[0]
    if not number.isdigit() or sys.platform == "win32":
        # There is no harmless way to ask; a run that takes hours is none.
        import time

        return time.time() - entry.stat().st_mtime < 6 * 3600
    try:
        os.kill(int(number), 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True
    return True


def _remove(folder: str) -> None:
    with contextlib.suppress(OSError):
        for name in os.listdir(folder):
            os.unlink(f"{folder}/{name}")
        os.rmdir(folder)
