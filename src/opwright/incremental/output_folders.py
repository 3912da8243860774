"""Output folders of runs: outputs that are no longer made, links that lead out, and the state of gone folders.

A run also writes through symbolic links that lead out of its own folder, and notes it.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Collection, Iterable, Iterator, Mapping
from json import loads

from opwright.files.plain_files import read_plain_file, real_folder, remove_below, remove_flat_folder
from opwright.files.staging import replace_state
from opwright.incremental.identity import RunIdentity
from opwright.incremental.state import Manifest, root_of
from opwright.source.codes import LINKED_FOLDER
from opwright.source.diagnostic import Diagnostics

_HOME_FILE = "folder"
"""The file that names the output folder, in state folders that are kept apart from it."""


def stale_outputs(
    run: RunIdentity, previous: Manifest, others: Iterable[Manifest], targets: Collection[str]
) -> set[str]:
    """Files that earlier runs of the same kind made and this one does not make.

    They exclude files that a run of another kind made too, unless this run makes everything that such runs make. They
    also exclude files behind a link that leads out of the folders that the user chose.
    """
    gone = previous.own_outputs() - set(targets)
    for other in others:
        if not _covers(run, other):
            gone -= other.outputs.keys()
    prefixes = tuple(f"{root}/" for root in _tops(run))
    return {path for path in gone if path.startswith(prefixes)}


def _tops(run: RunIdentity) -> dict[str, str]:
    """Real path of each output folder that files are removed from, and that of the folder it must not leave.

    An output folder below the run's folder must not leave this; one elsewhere was chosen by the user as it is.
    """
    home = real_folder(run.home)
    tops = {}
    for name, root in run.roots.items():
        if os.path.isabs(run.folders[name]):
            tops[root] = root
        elif f"{root}/".startswith(f"{home}/"):
            tops[root] = home
    return tops


def prune(run: RunIdentity, paths: Iterable[str]) -> None:
    """Remove stale outputs of a run. Links are neither followed nor removed."""
    tops = _tops(run)
    below: dict[str, list[str]] = {}
    for path in paths:
        name = root_of(run.roots, path.rpartition("/")[0])
        top = None if name is None else tops.get(run.roots[name])
        if top is not None:
            below.setdefault(top, []).append(path[len(top) + 1 :])
    for top, relative in below.items():
        remove_below(top or "/", relative)


def _covers(run: RunIdentity, other: Manifest) -> bool:
    """Whether a run makes everything that runs of the other kind make: same folders, and at least their families."""
    mine: Mapping[str, object] = loads(run.kind)
    its: Mapping[str, object] = loads(other.kind)
    families = its.get("families")
    same = {name: value for name, value in mine.items() if name != "families"} == {
        name: value for name, value in its.items() if name != "families"
    }
    return same and isinstance(families, list) and all(family in run.families for family in families)


def forget_gone_folders(run: RunIdentity) -> None:
    """Remove the state of output folders that no longer exist from the user's cache.

    Runs that keep their state there do this, because nothing else would remove the state of a deleted build.
    """
    if not run.apart:
        return
    replace_state(os.path.join(run.state_folder, _HOME_FILE), os.path.realpath(run.home).encode(*_PATH_BYTES))
    with contextlib.suppress(OSError), os.scandir(os.path.dirname(run.state_folder)) as entries:
        for entry in entries:
            with contextlib.suppress(OSError, ValueError):
                home = read_plain_file(os.path.join(entry.path, _HOME_FILE)).decode(*_PATH_BYTES)
                if not os.path.isdir(home):
                    remove_flat_folder(entry.path)


_PATH_BYTES = ("utf-8", "surrogateescape")


def note_links(run: RunIdentity, written: Iterable[str], sink: Diagnostics) -> None:
    """Note each folder that the run writes to and that is a link out of the folder that the user chose."""
    for link in sorted(set(_links(run, written))):
        sink.note(LINKED_FOLDER, f"`{link}` is a link: what belongs there is written to `{real_folder(link)}`")


def _links(run: RunIdentity, written: Iterable[str]) -> Iterator[str]:
    home = os.path.abspath(run.home).rstrip(os.sep)
    for folder in run.folders.values():
        if not os.path.isabs(folder):
            yield from _links_between(home, folder)
    if not run.apart:
        yield from _links_between(home, os.path.basename(run.state_folder))
    folders = {path.rpartition("/")[0] for path in written}
    for root in run.roots.values():
        for folder in folders:
            if folder.startswith(f"{root}/"):
                yield from _links_between(root, folder[len(root) + 1 :])


def _links_between(top: str, below: str) -> Iterator[str]:
    """The links among the folders from one folder down to another that lead out of the first."""
    real = f"{real_folder(top)}/"
    path = top
    for part in below.split("/"):
        path = f"{path}/{part}" if part else path
        if os.path.islink(path) and not f"{real_folder(path)}/".startswith(real):
            yield path
