"""The view of one release's inputs that all origins share."""

from __future__ import annotations

import os
from copy import copy
from typing import TYPE_CHECKING

from opwright.release.store import NATIVE_OPS, AotFolder
from opwright.source.codes import INPUT_MISSING, NO_AOT_FOLDER, NO_INPUTS_HERE
from opwright.source.diagnostic import Fault
from opwright.source.records import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import TypeAlias

    from opwright.release.store import InputPaths, Store
    from opwright.source.diagnostic import Diagnostics
    from opwright.source.text import SourceFile

    AskWhole: TypeAlias = Callable[[str, int | None], bool]

NATIVE_FUNCTIONS = "native/native_functions.yaml"
#: The help of faults in finding a release.
THREE_WAYS = (
    "name a source tree with `--source-path DIR`, or a wheel with `--torch FILE.whl`, "
    "or install torch or reach a package index and name a version with `--torch 2.13.0`"
)


class Consent(NamedTuple):
    """What the user agreed to.

    `ask_whole` is asked before Opwright downloads a whole wheel because the server cannot send parts. With
    `require_hashes` it downloads wheels whole in any case, and compares them with the SHA-256 that the index gives.
    """

    ask_whole: AskWhole | None = None
    require_hashes: bool = False


class Inputs:
    """A read-only view of one release's generator inputs.

    `origin` says in words where they come from ("the wheel torch-2.13.0-...whl"). `version_text` is the version that
    the origin states, or None. `root` is the top of the source tree or the folder of packages that they are in, in
    which no file of PyTorch may be missing; None for a folder of their own, and for wheels.
    """

    __slots__ = ("_digest", "_members", "_store", "_texts", "origin", "root", "version_text")

    def __init__(self, store: Store, origin: str, version_text: str | None, root: str | None = None) -> None:
        self._store = store
        self._texts: dict[str, SourceFile] = {}
        self._members: dict[str, tuple[str, ...]] = {}
        self._digest: str | None = None
        self.origin = origin
        self.version_text = version_text
        self.root = root

    def with_store(self, store: Store) -> Inputs:
        """The release's inputs, as another store reads them."""
        inputs = copy(self)
        inputs._store, inputs._texts, inputs._members, inputs._digest = store, {}, {}, None
        return inputs

    def __repr__(self) -> str:
        return f"Inputs({self.origin!r}, version {self.version_text})"

    def read_text(self, relative_path: str) -> SourceFile:
        """An input by its name, such as `native/tags.yaml`. Each input is read once.

        Raises Fault if the release has no such input (E0514) or if it is not UTF-8.
        """
        text = self._texts.get(relative_path)
        if text is None:
            text = self._texts[relative_path] = self._store.read_text(relative_path)
        return text

    def read_optional(self, relative_path: str) -> SourceFile | None:
        """An optional input by its name; None if it does not exist or is not text."""
        try:
            return self.read_text(relative_path)
        except Fault:
            return None

    def names(self) -> tuple[str, ...]:
        """The names of all inputs, sorted."""
        return self._store.names()

    def template_names(self, folder: str = "templates") -> tuple[str, ...]:
        """The file names of the templates in `templates` (ATen's) or `autograd/templates`, sorted."""
        prefix = f"{folder}/"
        return tuple(name[len(prefix) :] for name in self._store.names() if name.startswith(prefix))

    def display_path(self, relative_path: str) -> str:
        """The path of an input in diagnostics: on disk, or the wheel's name and the path inside it."""
        return self._store.display_path(relative_path)

    def paths(self, members: Iterable[str] = ()) -> InputPaths | None:
        """The files and folders on this machine that determine the inputs: while they do not change, the inputs do not
        either. None if there are none.

        `members` are other files of the same PyTorch that count as inputs, by their paths in the wheel.
        """
        return self._store.paths(members)

    @property
    def digest(self) -> str:
        """A SHA-256, in hexadecimal, over the names and bytes of all inputs."""
        if self._digest is None:
            import hashlib

            total = hashlib.sha256()
            for name in self._store.names():
                content = self._store.read_bytes(name)
                total.update(f"{name}\0{len(content)}\0".encode())
                total.update(content)
            self._digest = total.hexdigest()
        return self._digest

    def read_member(self, path: str) -> bytes:
        """Another file of the same PyTorch by its path in the wheel, such as `torch/version.py`.

        For a version at an index, this may read from the network. Raises Fault if there is no such file (E0514).
        """
        return self._store.read_members([path])[path]

    def read_members(self, paths: Iterable[str]) -> dict[str, bytes]:
        """Several such files, read in as few ranges of the wheel as possible."""
        return self._store.read_members(list(paths))

    def member_names(self, prefix: str) -> tuple[str, ...]:
        """The paths of such files that begin with `prefix`, sorted."""
        names = self._members.get(prefix)
        if names is None:
            names = self._members[prefix] = self._store.member_names(prefix)
        return names

    def with_native_aot(self, folder: str | None, sink: Diagnostics | None = None) -> Inputs:
        """A copy with the ahead-of-time compiled kernels that a folder declares; none for an empty name.

        None keeps those of the release. The sink gets a warning if the folder does not exist (W0503).
        """
        if folder is None:
            return self
        if folder and sink is not None and not os.path.isdir(folder):
            sink.warning(NO_AOT_FOLDER, f"there is no folder `{folder}` of kernels compiled ahead of time")
        return self.with_store(AotFolder(self._store, folder))

    def check_native_aot(self) -> None:
        """Raises Fault if the tree has no folder that declares kernels compiled ahead of time (E0514)."""
        if self.root is None or isinstance(self._store, AotFolder):
            return
        folder = os.path.join(self.root, *NATIVE_OPS.split("/"))
        if not os.path.isdir(folder):
            message = f"the release has no kernels compiled ahead of time: there is no `{folder}`"
            help = (
                'declare its files as inputs of the build action too, or leave them out with `--native-aot-ops-dir ""`'
            )
            raise Fault.at(INPUT_MISSING, message, help=help)

    def missing(self) -> Fault:
        """The fault for an origin without generator inputs."""
        return Fault.at(NO_INPUTS_HERE, f"{self.origin} has no `{NATIVE_FUNCTIONS}`")
