"""What a folder of inputs lacks, from the installed PyTorch.

PyTorch's generator runs on a copy of ATen's folder, or on a copy of its package's inputs: its release and the operators
with a C shim are those of the package that runs. So a folder that does not say which release it is of gets these from
the installed PyTorch, if its inputs look like those of that release.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

from opwright.release.local import from_installed
from opwright.release.store import AUTOGRAD, SHIM_TABLES, VERSION_FILES, FolderStore, InputPaths
from opwright.release.version import NEWEST, version_of
from opwright.release.view import Inputs
from opwright.source.codes import LENT_INPUTS
from opwright.source.diagnostic import Fault

if TYPE_CHECKING:
    from collections.abc import Iterable

    from opwright.release.store import Store
    from opwright.source.diagnostic import Diagnostics
    from opwright.source.text import SourceFile

_DERIVATIVES: Final = "autograd/derivatives.yaml"


class _LentStore:
    """A store like another one, with inputs of those names from a second one."""

    __slots__ = ("_lender", "_names", "_store", "_versions")

    def __init__(self, store: Store, lender: Store, names: Iterable[str], root: str) -> None:
        self._store: Final = store
        self._lender: Final = lender
        self._names: Final = frozenset(names)
        self._versions: Final = tuple([os.path.join(root, *name.split("/")) for name in VERSION_FILES])

    def _store_of(self, name: str) -> Store:
        return self._lender if name in self._names else self._store

    def display_path(self, name: str) -> str:
        """The path of the file."""
        return self._store_of(name).display_path(name)

    def read_text(self, name: str) -> SourceFile:
        """The decoded input with this name."""
        return self._store_of(name).read_text(name)

    def read_bytes(self, name: str) -> bytes:
        """The bytes of the input."""
        return self._store_of(name).read_bytes(name)

    def names(self) -> tuple[str, ...]:
        """The names of the inputs of both."""
        return tuple(sorted({*self._store.names(), *self._names}))

    def read_members(self, paths: Iterable[str]) -> dict[str, bytes]:
        """Other files of the same PyTorch."""
        return self._store.read_members(paths)

    def member_names(self, prefix: str) -> tuple[str, ...]:
        """The paths of such files that begin with `prefix`."""
        return self._store.member_names(prefix)

    def paths(self, members: Iterable[str] = ()) -> InputPaths | None:
        """The paths of both: also of what is missing beside the folder, which is taken from there once it appears."""
        paths = self._store.paths(members)
        if paths is None:
            return None
        lent = [os.path.abspath(self._lender.display_path(name)) for name in sorted(self._names)]
        return InputPaths((*paths.files, *lent, *self._versions), paths.folders)


def with_installed(
    inputs: Inputs,
    sink: Diagnostics,
    *,
    release: str | None = None,
    strict: bool = False,
    autograd: bool = True,
    shims: bool = True,
) -> Inputs:
    """The inputs of a folder with what it lacks from the installed PyTorch, if that is of the same release.

    What a folder may lack is the file that says its release, where `shims` asks for it the operators with a C shim, and
    where `autograd` asks for it all inputs of autograd. The sink gets a note that says what came from where (W0508), an
    error if `strict`.
    Inputs that lack nothing, and those for which no PyTorch is installed, stay as they are.
    """
    store, names = inputs._store, inputs.names()
    lacks_release = inputs.version_text is None and release is None
    lacking = [SHIM_TABLES] if shims and SHIM_TABLES not in names else []
    if autograd and _DERIVATIVES not in names:
        lacking.append(AUTOGRAD)
    if not isinstance(store, FolderStore) or not (lacks_release or (lacking and inputs.version_text is None)):
        return inputs
    try:
        installed = from_installed()
        theirs, ours = version_of(installed), version_of(inputs, release)
    except Fault:
        return inputs
    lent = [
        name for name in installed.names() if name in lacking or (AUTOGRAD in lacking and name.startswith(AUTOGRAD))
    ]
    # A release that is known by marks alone has the rules of the newest that is known.
    is_same = installed.version_text is not None and ours[:2] == min(theirs[:2], NEWEST[:2])
    if not is_same or installed.root is None or not (lacks_release or lent):
        return inputs
    _tell(inputs, installed, ["its release"] * lacks_release + [f"`{name}`" for name in lacking], sink, strict)
    version = installed.version_text if lacks_release else inputs.version_text
    whole = _LentStore(store, installed._store, lent, installed.root)
    return Inputs(whole, inputs.origin, version, inputs.root)


def _tell(inputs: Inputs, installed: Inputs, lent: list[str], sink: Diagnostics, strict: bool) -> None:
    what = " and ".join([", ".join(lent[:-1]), lent[-1]] if lent[1:] else lent)
    (sink.error if strict else sink.note)(
        LENT_INPUTS,
        f"{inputs.origin} lacks {what}: {'they are' if lent[1:] else 'it is'} taken from {installed.origin}, which is "
        f"{installed.version_text}",
        help="name inputs of a whole tree or of an installed PyTorch, or leave out `--strict`" if strict else "",
    )
