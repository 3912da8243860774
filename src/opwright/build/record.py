"""What a run leaves on record in its output folder, so that the next one can tell that there is nothing to do.

A record is a file `.opwright/NAME.record`: a line with the format's number, a checksum and the length of the rest, then
JSON. There is one for each kind of run, because several runs may share a folder: PyTorch's build makes headers,
sources and `Declarations.yaml` each with a run of its own. A record that is damaged, of another format, or of another
kind whose name collides is as good as none.
"""

from __future__ import annotations

import contextlib
import os
import sys
import zlib
from json import dumps, loads

from opwright.build.plain_files import read_plain_file
from opwright.build.watch import Watched

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from typing import Any, TypeAlias

    Status: TypeAlias = "tuple[int, int, int]"
    """Size, time of change in nanoseconds and inode of an output."""

__all__ = [
    "STATE_FOLDER",
    "Record",
    "Run",
    "load_record",
    "load_records",
    "record_paths",
    "recorded_facts",
    "tool_identity",
    "write_record",
]

STATE_FOLDER = ".opwright"
"""The folder below an output folder that has what runs remember there. It may be deleted at any time."""

_FORMAT = "opwright-record 1"
_SUFFIX = ".record"


class Run:
    """What identifies a run: the output folder that it is remembered in, its kind, and all that was asked for.

    Runs of one kind make the same files, as far as their inputs and options agree: a later one takes the place of an
    earlier one. `kind` has the folders and what else tells them apart. What is remembered stands in the output folder,
    or in the user's cache where nothing but outputs may stand there (`apart`).
    """

    __slots__ = ("apart", "families", "home", "kind", "request", "state_folder")

    def __init__(
        self,
        home: str,
        kind: Mapping[str, object],
        request: Mapping[str, object],
        families: Iterable[str] = (),
        *,
        apart: bool = False,
    ) -> None:
        self.home = home
        self.apart = apart
        self.state_folder = _state_folder_apart(home) if apart else os.path.join(home, STATE_FOLDER)
        self.families = tuple(families)
        self.kind = dumps({**kind, "families": sorted(self.families)}, sort_keys=True)
        self.request = dumps(request, sort_keys=True)

    def state_path(self, suffix: str) -> str:
        """The path of something that runs of this kind remember."""
        encoded = self.kind.encode()
        name = f"{zlib.crc32(encoded):08x}{zlib.adler32(encoded):08x}"
        return os.path.join(self.state_folder, name + suffix)


def _state_folder_apart(home: str) -> str:
    """Where the user's cache has what runs into an output folder remember."""
    from opwright.release.places import cache_folder

    real = os.path.realpath(home).encode("utf-8", "surrogateescape")
    return os.path.join(cache_folder(), "state", f"{zlib.crc32(real):08x}{zlib.adler32(real):08x}")


class Record:
    """What a run read, made and said.

    `outputs` maps the path of every output to its status right after the run, `facts` are what the program says about
    the run when there is nothing to do.
    """

    __slots__ = ("facts", "kind", "outputs", "request", "tool", "watched")

    def __init__(
        self,
        kind: str,
        request: str,
        tool: str,
        watched: Watched,
        outputs: Mapping[str, Status],
        facts: Mapping[str, str | int],
    ) -> None:
        self.kind = kind
        self.request = request
        self.tool = tool
        self.watched = watched
        self.outputs = outputs
        self.facts = facts

    def is_current(self, run: Run) -> bool:
        """Whether a run would do nothing: it asks for the same, by the same tool, and neither side of it changed."""
        if run.request != self.request or self.tool != tool_identity() or not self.watched.holds():
            return False
        # Last, because there are most of them.
        if not self.outputs_hold():
            return False
        if self.watched.refreshed:
            write_record(run, self)
        return True

    def outputs_hold(self) -> bool:
        """Whether every output is there as the run left it."""
        return len(self.intact_outputs()) == len(self.outputs)

    def intact_outputs(self) -> dict[str, Status]:
        """The outputs that are as the run left them."""
        folders: dict[str, dict[str, Status]] = {}
        for path, status in self.outputs.items():
            folder, _, name = path.rpartition("/")
            folders.setdefault(folder, {})[name] = status
        intact: dict[str, Status] = {}
        for folder, expected in folders.items():
            with contextlib.suppress(OSError):
                intact.update(_intact(folder, expected))
        return intact


def _intact(folder: str, expected: dict[str, Status]) -> list[tuple[str, Status]]:
    found = []
    with os.scandir(folder) as entries:
        for entry in entries:
            status = expected.get(entry.name)
            if status is not None:
                now = entry.stat()
                if (now.st_size, now.st_mtime_ns, now.st_ino) == status:
                    found.append((f"{folder}/{entry.name}", status))
    return found


def tool_identity() -> str:
    """A text that is another one when any module of this package is."""
    top = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    checksum = 0
    for line in sorted(_module_lines(top)):
        checksum = zlib.crc32(line.encode(), checksum)
    return f"{sys.implementation.cache_tag} {checksum:08x} {top}"


def _module_lines(folder: str) -> Iterator[str]:
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.name.endswith((".py", ".json")):
                    status = entry.stat()
                    yield f"{entry.path} {status.st_size} {status.st_mtime_ns}"
                elif "." not in entry.name and entry.name != "__pycache__":
                    yield from _module_lines(entry.path)
    except OSError:
        # A file, or a package that is no folder on disk; then the version alone tells.
        return


def load_record(run: Run) -> Record | None:
    """The record of the last run of this kind, or None when there is none that can be trusted."""
    record = _loaded(run.state_path(_SUFFIX))
    return record if record is not None and record.kind == run.kind else None


def record_paths(state_folder: str) -> list[str]:
    """The records in a folder."""
    try:
        names = sorted(os.listdir(state_folder))
    except OSError:
        return []
    return [os.path.join(state_folder, name) for name in names if name.endswith(_SUFFIX)]


def recorded_facts(path: str) -> Mapping[str, str | int]:
    """What a record says about its run; nothing if it cannot be trusted."""
    record = _loaded(path)
    return {} if record is None else record.facts


def load_records(run: Run) -> list[Record]:
    """The records of all other kinds of runs into the same folder."""
    loaded = map(_loaded, record_paths(run.state_folder))
    return [record for record in loaded if record is not None and record.kind != run.kind]


def _loaded(path: str) -> Record | None:
    try:
        header, _, body = read_plain_file(path).partition(b"\n")
        if header.decode() != _header(body):
            return None
        data: dict[str, Any] = loads(body)
        outputs: dict[str, Status] = {}
        for folder, (names, sizes, changes, inodes) in data["outputs"].items():
            paths = [f"{folder}/{name}" for name in names]
            outputs.update(zip(paths, zip(sizes, changes, inodes, strict=True), strict=True))
        watched = Watched(data["files"], data["folders"])
        return Record(data["kind"], data["request"], data["tool"], watched, outputs, data["facts"])
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        # Whatever is wrong with it, a run without a record writes it anew.
        return None


def _header(body: bytes) -> str:
    return f"{_FORMAT} {zlib.crc32(body):08x} {len(body)}"


def write_record(run: Run, record: Record) -> None:
    """Keeps a record. Where that cannot be done the next run does more than it needs to, which is no fault."""
    columns: dict[str, tuple[list[str], list[int], list[int], list[int]]] = {}
    for path, (size, changed, inode) in record.outputs.items():
        folder, _, name = path.rpartition("/")
        names, sizes, changes, inodes = columns.setdefault(folder, ([], [], [], []))
        names.append(name)
        sizes.append(size)
        changes.append(changed)
        inodes.append(inode)
    body = dumps(
        {
            "kind": record.kind,
            "request": record.request,
            "tool": record.tool,
            "files": record.watched.files,
            "folders": record.watched.folders,
            "outputs": columns,
            "facts": record.facts,
        }
    ).encode()
    replace_state(run.state_path(_SUFFIX), _header(body).encode() + b"\n" + body)


def replace_state(path: str, data: bytes) -> bool:
    """Replaces a file of the state folder, whole, and says whether that was possible."""
    temporary = f"{path}.{os.getpid()}.new"
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(temporary, "wb") as stream:
            stream.write(data)
        os.replace(temporary, path)
    except OSError:
        return False
    return True
