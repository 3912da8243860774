"""State that a run leaves for the next one: what it read and wrote, and how it made its files.

It is a file `.opwright/NAME.state`: a line with the format's number, a checksum and the length of the rest; a line of
JSON, the manifest, with which the next run can tell that there is nothing to do; and what only a run with something to
do reads, the state of the emitters (a line of JSON, see `previous_build`) and the texts of inputs. There is one for
each kind of run, because several runs may share a folder: PyTorch's build makes headers, sources and
`Declarations.yaml` each with a run of its own. State that is damaged, of another format, or of another kind whose name
collides is ignored.

A manifest names each output by its output folder and the path below that folder, so it may be moved and copied with
its folder. It may also be forged: values are checked to be of their types, and what removes files does not leave the
folder (`remove_below`).
"""

from __future__ import annotations

import contextlib
import os
from json import dumps, loads

from opwright.files.plain_files import file_status, real_folder
from opwright.files.staging import STATE_FOLDER, read_checked_state, replace_checked_state
from opwright.incremental.identity import InputStamps, tool_identity
from opwright.source.records import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from typing import Any, TypeAlias

    from opwright.files.plain_files import Status
    from opwright.incremental.identity import RunIdentity

    _Columns: TypeAlias = "tuple[list[str], list[int], list[int], list[int]]"
    """Names of files in one folder, and each value of their statuses."""

_FORMAT = "opwright-state 6"
_SUFFIX = ".state"
_SEPARATOR = "\0"
_NO_STATUS = (0, 0, 0)
"""In place of the status of a file of which only the path counts."""


class Manifest(NamedTuple):
    """What a run read, wrote and reported.

    `outputs` maps the path of every output to its status right after the run, and `others` that of what the run wrote
    outside of its output folders, such as dependency files. `source_outputs` are outputs that belong to the sources and
    are never removed. `left` are outputs of earlier runs that are made no longer and were not removed. `facts` are what
    the program says about the run when there is nothing to do. `details` is what else the run keeps, by `keep`.
    """

    kind: str
    request: str
    tool: str
    stamps: InputStamps
    outputs: Mapping[str, Status]
    facts: Mapping[str, str | int]
    others: Mapping[str, Status]
    source_outputs: frozenset[str] = frozenset()
    left: frozenset[str] = frozenset()
    details: bytes = b""

    def is_current(self, run: RunIdentity) -> bool:
        """Whether a run would do nothing: it asks for the same, by the same tool, and neither side of it changed."""
        if run.request != self.request or self.tool != tool_identity() or not self.stamps.are_current():
            return False
        if run.prunes and self.left:
            return False
        # Last, because there are most of them.
        if not self.outputs_hold():
            return False
        if self.stamps.has_new_stamps:
            write_manifest(run, self)
        return True

    def outputs_hold(self) -> bool:
        """Whether everything that the run wrote is there as the run left it."""
        return len(self.intact_outputs()) == len(self.outputs) and self.others_hold()

    def others_hold(self) -> bool:
        """Whether what the run wrote outside of its output folders is there as the run left it."""
        return len(_intact(self.others)) == len(self.others)

    def intact_outputs(self) -> dict[str, Status]:
        """Outputs that are as the run left them."""
        return _intact(self.outputs)

    def own_outputs(self) -> set[str]:
        """Outputs that runs of this kind remove once they are made no longer."""
        return {*(self.outputs.keys() - self.source_outputs), *self.left}


def _intact(statuses: Mapping[str, Status]) -> dict[str, Status]:
    folders: dict[str, dict[str, Status]] = {}
    for path, status in statuses.items():
        folder, _, name = path.rpartition("/")
        folders.setdefault(folder, {})[name] = status
    intact: dict[str, Status] = {}
    for folder, expected in folders.items():
        # A forged manifest may name what is no folder.
        with contextlib.suppress(OSError, ValueError):
            intact.update(_intact_in(folder, expected))
    return intact


def _intact_in(folder: str, expected: dict[str, Status]) -> list[tuple[str, Status]]:
    intact = []
    with os.scandir(folder) as entries:
        for entry in entries:
            status = expected.get(entry.name)
            if status is not None and file_status(entry.stat()) == status:
                intact.append((f"{folder}/{entry.name}", status))
    return intact


def load_manifest(run: RunIdentity) -> Manifest | None:
    """Manifest of the last run of this kind, or None when there is none that can be trusted."""
    manifest = _load(run.state_path(_SUFFIX), run)
    return manifest if manifest is not None and manifest.kind == run.kind else None


def has_manifest(run: RunIdentity) -> bool:
    """Whether there is a manifest of the last run of this kind, trusted or not."""
    return os.path.lexists(run.state_path(_SUFFIX))


def load_manifests(run: RunIdentity) -> list[Manifest]:
    """Manifests of all other kinds of runs into the same folder."""
    manifests = [_load(path, run) for path in manifest_paths(run.state_folder)]
    return [manifest for manifest in manifests if manifest is not None and manifest.kind != run.kind]


def manifest_paths(state_folder: str) -> list[str]:
    """Manifests in a folder."""
    try:
        names = sorted(os.listdir(state_folder))
    except OSError:
        return []
    return [os.path.join(state_folder, name) for name in names if name.endswith(_SUFFIX)]


DAMAGE = (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError)
"""What reading a manifest raises that is damaged or forged; a run without a manifest writes it anew."""


def read_manifest(path: str) -> tuple[dict[str, Any], bytes]:
    """Data of a manifest, with texts and facts checked, and what else is kept. Raises what `DAMAGE` lists."""
    body = read_checked_state(path, _FORMAT)
    manifest, _, details = body.partition(b"\n")
    data: dict[str, Any] = loads(manifest)
    if not {type(data["kind"]), type(data["request"]), type(data["tool"])} == {str}:
        raise TypeError("a text is needed")
    if {type(fact) for fact in data["facts"].values()} - {str, int}:
        raise TypeError("a fact is a text or a number")
    return data, details


def _load(path: str, run: RunIdentity) -> Manifest | None:
    """A manifest of a run into the same folder as another one."""
    try:
        data, details = read_manifest(path)
        roots = run.roots
        if data["kind"] != run.kind:
            folders = loads(data["kind"])["folders"]
            roots = {name: real_folder(os.path.join(run.home, folder)) for name, folder in folders.items()}
        return Manifest(
            data["kind"],
            data["request"],
            data["tool"],
            InputStamps.from_manifest(data["files"], data["folders"]),
            _statuses(_stored_folders(roots, data["outputs"])),
            data["facts"],
            others=_statuses(data["others"].items()),
            source_outputs=frozenset(_statuses(_stored_folders(roots, data["source_outputs"]))),
            left=frozenset(_statuses(_stored_folders(roots, data["left"]))),
            details=details,
        )
    except DAMAGE:
        return None


def last_families(home: str, request: Mapping[str, object]) -> tuple[list[str], dict[str, str]] | None:
    """The families and the output folders of the last run that was asked for the same; None if there is none.

    A run that uses plug-ins would have to import them to know these. It is a guess: the manifest of the run decides,
    because the sources of the plug-ins are among its inputs.
    """
    asked = dumps(request, sort_keys=True)
    for path in sorted(manifest_paths(os.path.join(home, STATE_FOLDER)), key=_time_of_change, reverse=True):
        with contextlib.suppress(*DAMAGE):
            data, _ = read_manifest(path)
            if data["request"] == asked:
                kind = loads(data["kind"])
                folders = {name: os.path.join(home, folder) for name, folder in kind["folders"].items()}
                return list(map(str, kind["families"])), folders
    return None


def _time_of_change(path: str) -> int:
    try:
        return os.lstat(path).st_mtime_ns
    except OSError:
        return 0


def keep(emitters: bytes, texts: Mapping[str, str]) -> bytes:
    """What a run keeps for one with something to do: the state of its emitters, and texts of inputs by their names."""
    parts = [part for item in texts.items() for part in item]
    if any(_SEPARATOR in part for part in parts):
        parts = []
    return emitters + b"\n" + _SEPARATOR.join(parts).encode("utf-8", "surrogatepass")


def kept_emitters(manifest: Manifest) -> bytes:
    """State of the emitters that a run kept."""
    return manifest.details.partition(b"\n")[0]


def kept_texts(manifest: Manifest) -> dict[str, str] | None:
    """Texts of inputs that a run kept, by their names; None if it kept none."""
    try:
        texts = manifest.details.partition(b"\n")[2].decode("utf-8", "surrogatepass").split(_SEPARATOR)
        return dict(zip(texts[::2], texts[1::2], strict=True))
    except ValueError:
        return None


def _stored_folders(roots: Mapping[str, str], stored: Mapping[str, Mapping[str, Any]]) -> Iterator[tuple[str, Any]]:
    """Path of each folder that a manifest stores something of. A forged one may be outside of its root."""
    for name, folders in stored.items():
        for folder, content in folders.items():
            yield f"{roots[name]}/{folder}" if folder else roots[name], content


def _statuses(folders: Iterable[tuple[str, _Columns]]) -> dict[str, Status]:
    statuses: dict[str, Status] = {}
    for folder, (names, *columns) in folders:
        if len(columns) != len(_NO_STATUS) or any(set(map(type, column)) - {int} for column in columns):
            raise TypeError("a status is three numbers")
        statuses.update(zip([f"{folder}/{name}" for name in names], zip(*columns, strict=True), strict=True))
    return statuses


def write_manifest(run: RunIdentity, manifest: Manifest) -> None:
    """Keeps a manifest. Where that cannot be done the next run does more than it needs to, which is no fault."""
    body = dumps(
        {
            "kind": manifest.kind,
            "request": manifest.request,
            "tool": manifest.tool,
            "files": manifest.stamps.files,
            "folders": manifest.stamps.folders,
            "outputs": _by_root(run.roots, _columns(manifest.outputs)),
            "others": _columns(manifest.others),
            "source_outputs": _by_root(run.roots, _columns(dict.fromkeys(manifest.source_outputs, _NO_STATUS))),
            "left": _by_root(run.roots, _columns(dict.fromkeys(manifest.left, _NO_STATUS))),
            "facts": manifest.facts,
        }
    ).encode()
    replace_checked_state(run.state_path(_SUFFIX), _FORMAT, body + b"\n" + manifest.details)


def _columns(statuses: Mapping[str, Status]) -> dict[str, _Columns]:
    """Statuses by folder, each value in a column of its own."""
    folders: dict[str, _Columns] = {}
    for path, values in statuses.items():
        folder, _, name = path.rpartition("/")
        names, *columns = folders.setdefault(folder, ([], [], [], []))
        names.append(name)
        for column, value in zip(columns, values, strict=True):
            column.append(value)
    return folders


def _by_root(roots: Mapping[str, str], folders: Mapping[str, object]) -> dict[str, dict[str, object]]:
    """What folders hold, by the name of the output folder that each is below, and the path from there."""
    stored: dict[str, dict[str, object]] = {}
    for folder, content in folders.items():
        name = root_of(roots, folder)
        if name is not None:
            stored.setdefault(name, {})[folder[len(roots[name]) + 1 :]] = content
    return stored


def root_of(roots: Mapping[str, str], folder: str) -> str | None:
    """Name of the innermost output folder that a folder is in, or None if it is in none of them."""
    above = [name for name, root in roots.items() if f"{folder}/".startswith(f"{root}/")]
    return max(above, key=lambda name: len(roots[name]), default=None)
