"""Symbolic links that lead out of a run's own folder. The run writes there too, and notes it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator

from opwright.build.runs import Run, real_folder
from opwright.source.codes import LINKED_FOLDER
from opwright.source.diagnostic import Diagnostics

__all__ = ["note_links"]


def note_links(run: Run, written: Iterable[str], sink: Diagnostics) -> None:
    """Note each folder that the run writes to and that is a link out of the folder that the user chose."""
    for link in sorted(set(_links(run, written))):
        sink.note(LINKED_FOLDER, f"`{link}` is a link: what belongs there is written to `{real_folder(link)}`")


def _links(run: Run, written: Iterable[str]) -> Iterator[str]:
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
