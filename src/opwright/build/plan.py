"""The plan of a run: which emitter makes which file, before anything is rendered or written.

Every output gets its place here, below one of the run's folders, and no two outputs get the same one.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from opwright.build.codes import DUPLICATE_OUTPUT, LEAVES_FOLDER, UNKNOWN_FOLDER
from opwright.source.diagnostic import Fault, did_you_mean

if TYPE_CHECKING:
    from opwright.emit.emitter import Slots

__all__ = ["Emitted", "Output", "Plan", "Planned", "check_output_path"]


class Output(NamedTuple):
    """A file that an emitter asks for: its path in one of the output folders, and what it is made from.

    `slots` are the values of the template's slots, or what makes them once they are needed: a dry run never asks.
    Without a template the slot `text` alone is the file. With `make` slots and template are not asked: called with the
    place of the output, it gives the bytes, or None where the file that is there is right.
    """

    folder: str
    path: str
    template: str | None
    slots: Slots | Callable[[], Slots]
    make: Callable[[str], bytes | None] | None = None


Emitted: TypeAlias = "tuple[str, Iterable[Output]]"
"""The name of an emitter with its outputs, which may come one by one."""


class Planned(NamedTuple):
    """An output with its place."""

    emitter: str
    folder: str
    path: str
    target: str


class Plan:
    """The outputs of a run, placed in its folders.

    >>> plan = Plan({"ops": "build/ops"})
    >>> plan.place("operators", "ops", "add.h").path
    'add.h'
    >>> len(plan)
    1
    """

    __slots__ = ("_folders", "_outputs", "_roots")

    def __init__(self, folders: Mapping[str, str | os.PathLike[str]]) -> None:
        self._folders = {name: os.fspath(path) for name, path in folders.items()}
        self._roots = {name: _root(path) for name, path in self._folders.items()}
        self._outputs: dict[str, Planned] = {}

    def __len__(self) -> int:
        return len(self._outputs)

    @property
    def outputs(self) -> tuple[Planned, ...]:
        """What was placed so far, in order."""
        return tuple(self._outputs.values())

    @property
    def folders(self) -> Mapping[str, str]:
        """The run's folders by name, as the user wrote their paths."""
        return self._folders

    def place(self, emitter: str, folder: str, path: str) -> Planned:
        """The place of an output, as an absolute path.

        Raises Fault when the run has no such folder (E0604), when the path would leave it (E0602), and when an
        earlier output has the same place (E0603).
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
        planned = Planned(emitter, folder, path, target)
        earlier = self._outputs.setdefault(target, planned)
        if earlier is not planned:
            raise Fault.at(DUPLICATE_OUTPUT, _duplicate(earlier, planned))
        return planned


def _root(path: str) -> str:
    """An absolute path that ends in a slash; two spellings of one folder, and links to it, are the same text."""
    root = os.path.realpath(path).replace(os.sep, "/")
    return root if root.endswith("/") else f"{root}/"


def _duplicate(earlier: Planned, later: Planned) -> str:
    if earlier.emitter == later.emitter:
        return f"emitter `{later.emitter}` writes `{later.target}` twice"
    return f"emitters `{earlier.emitter}` and `{later.emitter}` both write `{later.target}`"


# An empty part, `.` or `..`, anything that is a separator or a drive somewhere, or that no file name can hold.
_LEAVES = re.compile(r"(?:^|/)\.{0,2}(?:/|$)|[\\:\0\ud800-\udfff]")


def check_output_path(emitter: str, path: str) -> None:
    """Raises Fault (E0602) unless a path is relative and stays below the folder that it is relative to.

    >>> check_output_path("operators", "ops/add.h")
    """
    if _LEAVES.search(path):
        wanted = f"emitter `{emitter}` asks for output path {path!a}"
        raise Fault.at(LEAVES_FOLDER, f"{wanted}, which is no path below its folder")
