"""The plan of a run: which emitter makes which file, before anything is rendered or written.

Every file gets its path here, below one of the run's folders, and no two files get the same one.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from opwright.source.codes import DUPLICATE_OUTPUT, LEAVES_FOLDER, UNKNOWN_FOLDER
from opwright.source.diagnostic import Fault, did_you_mean
from opwright.source.named_tuple import NamedTuple
from opwright.source.patterns import lazy_pattern

__all__ = ["Plan", "PlannedFile", "check_output_path"]


class PlannedFile(NamedTuple):
    """A file that an emitter makes: its path in one of the output folders, and its absolute path, `target`."""

    emitter: str
    folder: str
    path: str
    target: str


class Plan:
    """The files of a run in its output folders.

    >>> plan = Plan({"ops": "build/ops"})
    >>> plan.add("operators", "ops", "add.h").path
    'add.h'
    >>> len(plan)
    1
    """

    __slots__ = ("_files", "_folders", "_roots")

    def __init__(self, folders: Mapping[str, str | os.PathLike[str]]) -> None:
        self._folders = {name: os.fspath(path) for name, path in folders.items()}
        self._roots = {name: _root(path) for name, path in self._folders.items()}
        self._files: dict[str, PlannedFile] = {}

    def __len__(self) -> int:
        return len(self._files)

    @property
    def outputs(self) -> tuple[PlannedFile, ...]:
        """The files that were added so far, in order."""
        return tuple(self._files.values())

    @property
    def folders(self) -> Mapping[str, str]:
        """The run's folders by name, as the user wrote their paths."""
        return self._folders

    def add(self, emitter: str, folder: str, path: str) -> PlannedFile:
        """Add a file of an emitter.

        Raises Fault if the run has no such folder (E0604), if the path would leave it (E0602), and if another file
        has the same path (E0603).
        """
        root = self._roots.get(folder)
        if root is None:
            raise Fault.at(
                UNKNOWN_FOLDER,
                f"emitter `{emitter}` writes to output folder `{folder}`, which this run does not have",
                help=did_you_mean(folder, self._roots),
            )
        check_output_path(emitter, path)
        target = f"{root}{path}"
        planned = PlannedFile(emitter, folder, path, target)
        earlier = self._files.setdefault(target, planned)
        if earlier is not planned:
            raise Fault.at(DUPLICATE_OUTPUT, _duplicate(earlier, planned))
        return planned


def _root(path: str) -> str:
    """An absolute path that ends in a slash; two spellings of one folder, and links to it, are the same text."""
    root = os.path.realpath(path).replace(os.sep, "/")
    return root if root.endswith("/") else f"{root}/"


def _duplicate(earlier: PlannedFile, later: PlannedFile) -> str:
    if earlier.emitter == later.emitter:
        return f"emitter `{later.emitter}` writes `{later.target}` twice"
    return f"emitters `{earlier.emitter}` and `{later.emitter}` both write `{later.target}`"


# An empty part, `.` or `..`, anything that is a separator or a drive somewhere, or that no file name can hold; and the
# folder of the state of runs, which may be in the output folder.
_LEAVES = lazy_pattern(r"(?:^|/)\.{0,2}(?:/|$)|^(?i:\.opwright)(?:/|$)|[\\:\0\ud800-\udfff]")


def check_output_path(emitter: str, path: str) -> None:
    """Raises Fault (E0602) unless a path is relative and stays below the folder that it is relative to.

    >>> check_output_path("operators", "ops/add.h")
    """
    if _LEAVES.search(path):
        wanted = f"emitter `{emitter}` asks for output path {path!a}"
        raise Fault.at(LEAVES_FOLDER, f"{wanted}, which is no path below its folder")
