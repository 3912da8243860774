"""The inputs of one PyTorch release, read where they are.

Four places can hold them: a source tree, the installed package, a wheel file, and the wheel of a version at a package
index. Whatever the place, the same names lead to the same files:

    native/native_functions.yaml        native/tags.yaml        templates/Functions.h ...
    autograd/derivatives.yaml           autograd/deprecated.yaml        autograd/templates/Functions.h ...

Heavy modules are imported by the functions that need them: reading a source tree needs none.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from opwright.release.codes import BAD_SPEC, BAD_WHEEL, NO_INPUTS_HERE, NO_TORCH, NO_TORCHGEN, THREE_WAYS
from opwright.release.store import FolderStore
from opwright.source.diagnostic import Fault

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import TypeAlias

    from opwright.release.store import Store
    from opwright.source.diagnostic import Diagnostics
    from opwright.source.text import SourceFile

    AskWhole: TypeAlias = Callable[[str, int | None], bool]

__all__ = ["Inputs", "from_installed", "from_source_path", "from_version", "from_wheel", "resolve"]

NATIVE_FUNCTIONS = "native/native_functions.yaml"


class Inputs:
    """A read-only view of one release's generator inputs.

    `origin` says in words where they come from ("the wheel torch-2.13.0-...whl"), `version_text` is the version that
    the origin states, or None when it states none.
    """

    __slots__ = ("_digest", "_store", "_texts", "origin", "version_text")

    def __init__(self, store: Store, origin: str, version_text: str | None) -> None:
        self._store = store
        self._texts: dict[str, SourceFile] = {}
        self._digest: str | None = None
        self.origin = origin
        self.version_text = version_text

    def __repr__(self) -> str:
        return f"Inputs({self.origin!r}, version {self.version_text})"

    def read_text(self, relative_path: str) -> SourceFile:
        """An input by its name, such as `native/tags.yaml`; the same object when asked again.

        Raises Fault when the release has no such input (E0514) or it cannot be read as UTF-8.
        """
        text = self._texts.get(relative_path)
        if text is None:
            text = self._texts[relative_path] = self._store.read_text(relative_path)
        return text

    def names(self) -> tuple[str, ...]:
        """The names of all inputs that are there, sorted."""
        return self._store.names()

    def template_names(self, folder: str = "templates") -> tuple[str, ...]:
        """The file names of the templates in a folder, `templates` (ATen's) or `autograd/templates`, sorted."""
        prefix = f"{folder}/"
        return tuple(name[len(prefix) :] for name in self._store.names() if name.startswith(prefix))

    def display_path(self, relative_path: str) -> str:
        """The path that diagnostics show for an input: on disk, or the wheel's name and the path inside it."""
        return self._store.display_path(relative_path)

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

        From a version at an index this may read from the network. Raises Fault when there is none (E0514).
        """
        return self._store.read_members([path])[path]

    def read_members(self, paths: Iterable[str]) -> dict[str, bytes]:
        """Several such files at once, which reads as few stretches of the wheel as possible."""
        return self._store.read_members(list(paths))

    def member_names(self, prefix: str) -> tuple[str, ...]:
        """The paths of such files that begin with `prefix`, sorted."""
        return self._store.member_names(prefix)

    def missing(self) -> Fault:
        """The fault that there are no generator inputs here at all."""
        return Fault.at(NO_INPUTS_HERE, f"{self.origin} has no `{NATIVE_FUNCTIONS}`")


def from_source_path(folder: str | os.PathLike[str]) -> Inputs:
    """The inputs in the `aten/src/ATen` of a source tree, or the `torchgen/packaged/ATen` of an installed PyTorch.

    The top of a source tree does as well. Autograd's inputs are looked for in the same tree or package. Raises Fault
    when `native/native_functions.yaml` is not there (E0501).
    """
    aten = os.fspath(folder)
    if not os.path.isfile(os.path.join(aten, NATIVE_FUNCTIONS)):
        inner = os.path.join(aten, "aten", "src", "ATen")
        if not os.path.isfile(os.path.join(inner, NATIVE_FUNCTIONS)):
            raise _no_inputs_in(aten)
        aten = inner
    beside = os.path.join(aten, os.pardir, "autograd")
    if os.path.isfile(os.path.join(beside, "derivatives.yaml")):
        root = os.path.normpath(os.path.join(aten, os.pardir, os.pardir, os.pardir))
        store = FolderStore(aten, os.path.normpath(beside), root)
        return Inputs(store, f"the folder {aten}", _package_version(root))
    root = os.path.normpath(os.path.join(os.path.abspath(aten), os.pardir, os.pardir, os.pardir))
    shown_root = os.path.normpath(os.path.join(aten, os.pardir, os.pardir, os.pardir))
    store = FolderStore(aten, os.path.normpath(os.path.join(shown_root, "tools", "autograd")), root)
    return Inputs(store, f"the source tree {shown_root}", _tree_version(root))


def _no_inputs_in(folder: str) -> Fault:
    if not os.path.isdir(folder):
        return Fault.at(NO_INPUTS_HERE, f"there is no folder `{folder}`")
    return Fault.at(
        NO_INPUTS_HERE,
        f"`{folder}` has no `{NATIVE_FUNCTIONS}`",
        help="name the folder `aten/src/ATen` of a PyTorch source tree, or the `torchgen/packaged/ATen` of a package",
    )


def _tree_version(root: str) -> str | None:
    """The version in a source tree's `version.txt`."""
    try:
        with open(os.path.join(root, "version.txt"), encoding="utf-8") as stream:
            return stream.read(64).strip() or None
    except (OSError, UnicodeDecodeError):
        return None


def _package_version(site: str) -> str | None:
    """The version of the torch in a folder of packages, without importing it."""
    try:
        with open(os.path.join(site, "torch", "version.py"), encoding="utf-8") as stream:
            lines = stream.read().splitlines()
    except (OSError, UnicodeDecodeError):
        return None
    for line in lines:
        name, _, value = line.partition("=")
        if name.partition(":")[0].strip() == "__version__":
            return value.strip().strip("'\"") or None
    return None


def from_installed() -> Inputs:
    """The inputs that the PyTorch of the running environment brought; it is found but not imported.

    Raises Fault when there is none (E0502).
    """
    folder = _installed_folder()
    if folder is None:
        raise Fault.at(NO_TORCH, "no PyTorch is installed in the running environment", help=THREE_WAYS)
    inputs = from_source_path(folder)
    version = inputs.version_text or _metadata_version()
    return Inputs(inputs._store, f"the PyTorch installed at {os.path.normpath(folder)}", version)


def _installed_folder() -> str | None:
    """The ATen folder of the installed generator: packaged, or of the source tree it was installed from in place."""
    from importlib.util import find_spec

    try:
        spec = find_spec("torchgen")
    except (ImportError, ValueError):
        return None
    for package in (spec.submodule_search_locations if spec else None) or ():
        for folder in (("packaged", "ATen"), (os.pardir, "aten", "src", "ATen")):
            candidate = os.path.join(package, *folder)
            if os.path.isfile(os.path.join(candidate, NATIVE_FUNCTIONS)):
                return os.path.normpath(candidate)
    return None


def _metadata_version() -> str | None:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("torch")
    except PackageNotFoundError:
        return None


def from_wheel(path: str | os.PathLike[str]) -> Inputs:
    """The inputs inside a wheel file of any platform; nothing is unpacked.

    Raises Fault when it is no readable wheel (E0504), or one without the generator's inputs (E0505); later, on
    reading, when a member differs from its checksums (E0510).
    """
    from opwright.release.store import WheelStore
    from opwright.release.wheel import Wheel

    name = os.fspath(path)
    if not os.path.isfile(name):
        raise Fault.at(BAD_WHEEL, f"there is no wheel `{name}`")
    wheel = Wheel.open(name)
    check_has_inputs(wheel.names("torchgen/packaged/ATen/native/"), name)
    return Inputs(WheelStore(wheel), f"the wheel {os.path.basename(name)}", wheel.version)


def check_has_inputs(members: tuple[str, ...], name: str) -> None:
    """Raises Fault when the members of a wheel do not include the generator's inputs (E0505)."""
    if f"torchgen/packaged/ATen/{NATIVE_FUNCTIONS}" not in members:
        raise Fault.at(
            NO_TORCHGEN,
            f"`{name}` carries no generator inputs under `torchgen/packaged/`",
            help="name a wheel of PyTorch itself, 2.9 or newer",
        )


def from_version(version: str, *, ask_whole: AskWhole | None = None, sink: Diagnostics | None = None) -> Inputs:
    """The inputs of a version: from the user's cache, else out of its wheel at the package index pip would ask.

    Some 2 MB are read, not the whole wheel. When the server cannot send parts of files, `ask_whole(name, size)` is
    asked whether to download the whole; without it the answer is no (E0511). A cache that cannot be written is a
    warning in the sink (W0502), no more.

    Raises Fault for a version that the index does not have (E0506) or withdrew (E0507), when no index answers (E0508),
    and for downloads that are cut short (E0509) or altered (E0510).
    """
    from opwright.release.fetch import fetch_inputs

    return fetch_inputs(version, ask_whole, sink)


def resolve(spec: str = "auto", *, ask_whole: AskWhole | None = None, sink: Diagnostics | None = None) -> Inputs:
    """The inputs that a `--torch` argument names: `auto`, the path of a wheel, or a version.

    Raises Fault when it is none of these (E0503), and as the function for each of them does.
    """
    if spec == "auto":
        return from_installed()
    if spec.endswith(".whl"):
        return from_wheel(spec)
    if not spec[:1].isdigit():
        near = " (a folder is named with `--source-path`)" if os.path.isdir(spec) else ""
        raise Fault.at(
            BAD_SPEC,
            f"`{spec}` is neither `auto`, nor a wheel, nor a version{near}",
            help="write `auto`, `FILE.whl`, or a version like `2.13.0`",
        )
    return from_version(spec, ask_whole=ask_whole, sink=sink)
