"""What a folder of inputs lacks, from the installed PyTorch.

PyTorch's generator runs on a copy of ATen's folder, or on a copy of its package's inputs: its release and the operators
with a C shim are those of the package that runs. So a folder that does not say which release it is of gets these from
the installed PyTorch, if its inputs look like those of that release.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

from opwright.release.local import from_installed
from opwright.release.store import AUTOGRAD, SHIM_TABLES, VERSION_FILES, FolderStore, InputPaths, LayeredStore
from opwright.release.version import NEWEST, version_of
from opwright.release.view import Inputs
from opwright.source.codes import LENT_INPUTS
from opwright.source.diagnostic import Fault

if TYPE_CHECKING:
    from opwright.source.diagnostic import Diagnostics

_DERIVATIVES: Final = "autograd/derivatives.yaml"


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
    # Also what is missing beside the folder counts: it is taken from there once it appears.
    files = [os.path.abspath(installed.display_path(name)) for name in lent]
    files += [os.path.join(installed.root, *name.split("/")) for name in VERSION_FILES]
    whole = LayeredStore(store, installed._store, frozenset(lent).__contains__, InputPaths(tuple(files)))
    return Inputs(whole, inputs.origin, version, inputs.root)


def _tell(inputs: Inputs, installed: Inputs, lent: list[str], sink: Diagnostics, strict: bool) -> None:
    what = " and ".join([", ".join(lent[:-1]), lent[-1]] if lent[1:] else lent)
    (sink.error if strict else sink.note)(
        LENT_INPUTS,
        f"{inputs.origin} lacks {what}: {'they are' if lent[1:] else 'it is'} taken from {installed.origin}, which is "
        f"{installed.version_text}",
        help="name inputs of a whole tree or of an installed PyTorch, or leave out `--strict`" if strict else "",
    )
