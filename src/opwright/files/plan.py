"""Plan of a run: which emitter makes which file, before anything is rendered or written.

Of a sharded family, the fragments are spread over a fixed number of files, and all of them stand in one more. A unit's
shard depends on its key alone, so an edit of one operator touches one shard. Builds compile the numbered shards; the
file with everything is there to be read.

Every file gets its path here, below one of the run's folders, and no two files get the same one.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache

from opwright.emit.emitter import AnyEmitter, FilePerUnit, OneFile
from opwright.files.plain_files import real_folder
from opwright.source.codes import DUPLICATE_OUTPUT, LEAVES_FOLDER, UNKNOWN_FOLDER
from opwright.source.diagnostic import Fault, did_you_mean
from opwright.source.lazy import lazy_pattern
from opwright.source.records import NamedTuple

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


def file_specs(emitter: AnyEmitter, units: Sequence[object], *, lean: bool = False) -> Iterator[FileSpec]:
    """Files of an emitter, as its layout says. Of a sharded family the file with everything comes first.

    Lean runs have no file with everything.

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
        if not lean:
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
    """Path of one shard.

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


class PlannedFile(NamedTuple):
    """A file that an emitter makes: its path in one of the output folders, and its absolute path, `target`."""

    emitter: str
    folder: str
    path: str
    target: str


class Plan:
    """Files of a run in its output folders.

    >>> plan = Plan({"ops": "build/ops"})
    >>> plan.add("operators", "ops", "add.h").path
    'add.h'
    >>> len(plan)
    1
    """

    __slots__ = ("_files", "_folders", "_roots")

    def __init__(self, folders: Mapping[str, str | os.PathLike[str]]) -> None:
        self._folders = {name: os.fspath(path) for name, path in folders.items()}
        # Two spellings of one folder, and links to it, are the same text.
        self._roots = {name: f"{real_folder(path)}/" for name, path in self._folders.items()}
        self._files: dict[str, PlannedFile] = {}

    def __len__(self) -> int:
        return len(self._files)

    @property
    def outputs(self) -> tuple[PlannedFile, ...]:
        """Files that were added so far, in order."""
        return tuple(self._files.values())

    @property
    def folders(self) -> Mapping[str, str]:
        """The run's folders by name, as the user wrote their paths."""
        return self._folders

    def add(self, emitter: str, folder: str, path: str) -> PlannedFile:
        """Add a file of an emitter.

        Raises Fault if the run has no such folder (E0604), if the path would leave it (E0602), and if another file
        has the same path, or one that differs only in upper and lower case (E0603).
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
        # Many file systems of macOS and Windows do not tell such paths apart.
        earlier = self._files.setdefault(f"{root}{path.lower()}", planned)
        if earlier is not planned:
            raise Fault.at(DUPLICATE_OUTPUT, _duplicate(earlier, planned))
        return planned


def _duplicate(earlier: PlannedFile, later: PlannedFile) -> str:
    if earlier.target != later.target:
        return f"`{earlier.target}` and `{later.target}` differ only in upper and lower case"
    if earlier.emitter == later.emitter:
        return f"emitter `{later.emitter}` writes `{later.target}` twice"
    return f"emitters `{earlier.emitter}` and `{later.emitter}` both write `{later.target}`"


# An empty part, `.` or `..`, anything that is a separator or a drive somewhere, or that no file name can hold; and the
# folder of the state of runs, which may be in the output folder.
_LEAVES = lazy_pattern(r"(?:^|/)\.{0,2}(?:/|$)|^(?i:\.opwright)(?:/|$)|[\\:\0\ud800-\udfff]")


_DEVICE = lazy_pattern(r"(?i:(?:^|/)(?:con|prn|aux|nul|(?:com|lpt)[0-9\xb9\xb2\xb3])\s*(?:\.[^/]*)?(?:/|$))")


def has_windows_device(path: str) -> bool:
    """Whether a part of a path is a device of Windows, such as `con` or `aux.h`, which no file or folder there can be.

    >>> [has_windows_device(path) for path in ("src/con/ops.h", "Aux.h", "lpt1", "src/console.h", "first.aux")]
    [True, True, True, False, False]
    """
    return _DEVICE.search(path) is not None


def check_output_path(emitter: str, path: str) -> None:
    """Raises Fault (E0602) unless a path is relative and stays below the folder that it is relative to, on each system.

    >>> check_output_path("operators", "ops/add.h")
    """
    if _LEAVES.search(path):
        wanted = f"emitter `{emitter}` asks for output path {path!a}"
        raise Fault.at(LEAVES_FOLDER, f"{wanted}, which is no path below its folder")
    if has_windows_device(path):
        raise Fault.at(
            LEAVES_FOLDER, f"emitter `{emitter}` asks for output path {path!a}, which has a device of Windows"
        )
