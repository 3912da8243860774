"""The inputs of one PyTorch release.

They come from a source tree, the installed package, a wheel file, or the wheel of a version at a package index. Inputs
have the same names wherever they come from:

    native/native_functions.yaml        native/tags.yaml        templates/Functions.h ...
    autograd/derivatives.yaml           autograd/deprecated.yaml        autograd/templates/Functions.h ...
    aoti/fallback_ops.py

Functions import the heavy modules that they need; reading a source tree needs none.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from opwright.guests import wheels_module
from opwright.release.local import from_files, from_installed, from_source_path
from opwright.release.view import Consent, Inputs
from opwright.source.codes import BAD_SPEC
from opwright.source.diagnostic import Fault

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

    from opwright.release.view import AskWhole as AskWhole
    from opwright.source.diagnostic import Diagnostics

__all__ = [
    "Inputs",
    "from_files",
    "from_installed",
    "from_source_path",
    "from_version",
    "from_wheel",
    "open_inputs",
    "resolve",
]


def from_version(
    version: str,
    *,
    ask_whole: AskWhole | None = None,
    require_hashes: bool = False,
    sink: Diagnostics | None = None,
) -> Inputs:
    """The inputs of a version: from the user's cache, else from its wheel at the package index that pip would use.

    Opwright reads some 2 MB, not the whole wheel, and compares each file with the wheel's own list of SHA-256. If the
    server cannot send parts of files, `ask_whole(name, size)` decides whether to download the whole wheel; without it
    Opwright does not (E0511). With `require_hashes`, or pip's setting of this name, it always downloads the whole wheel
    and compares it with the index's SHA-256. The sink gets warnings if pip ignores an index (W0504) or the cache cannot
    be written (W0502).

    Raises Fault for a version that the index does not have (E0506) or withdrew (E0507), when no index answers (E0508)
    or can be trusted (E0518), for links that are refused (E0519), for downloads that are cut short (E0509) or altered
    (E0510), and if a SHA-256 is required and the index gives none (E0523).
    """
    fetch_inputs: Callable[..., Inputs] = _wheels_module("fetch", f"PyTorch {version}").fetch_inputs
    return fetch_inputs(version, Consent(ask_whole, require_hashes), sink)


def from_wheel(path: str | os.PathLike[str]) -> Inputs:
    """The inputs inside a wheel file of any platform; nothing is unpacked.

    Raises Fault if it is not a readable wheel (E0504) or has no generator inputs (E0505). Reading raises Fault if a
    member differs from its checksums (E0510).
    """
    wheel_inputs: Callable[[str], Inputs] = _wheels_module("wheel_store", f"the wheel `{os.fspath(path)}`").wheel_inputs
    return wheel_inputs(os.fspath(path))


def _wheels_module(name: str, wanted: str) -> ModuleType:
    """A module of the package that reads wheels. Raises Fault where it is not there."""
    module = wheels_module(name)
    if module is None:
        message = f"this is the core of Opwright, which reads inputs in folders: not {wanted}"
        raise Fault.at(BAD_SPEC, message, help="name a folder of the inputs with `--source-path`")
    return module


def resolve(
    spec: str = "auto",
    *,
    ask_whole: AskWhole | None = None,
    require_hashes: bool = False,
    sink: Diagnostics | None = None,
) -> Inputs:
    """The inputs that a `--torch` argument names: `auto`, the path of a wheel, or a version.

    Raises Fault if it is none of these (E0503), or if the inputs cannot be read.
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
    return from_version(spec, ask_whole=ask_whole, require_hashes=require_hashes, sink=sink)


def open_inputs(
    torch: str | None = None,
    source_path: str | None = None,
    *,
    ask_whole: AskWhole | None = None,
    require_hashes: bool = False,
    sink: Diagnostics | None = None,
) -> Inputs:
    """The inputs that the user names: a source path, else `torch` (`auto`, a wheel, a version).

    Raises Fault if they cannot be read.

    >>> open_inputs("auto").read_text("native/tags.yaml").text.startswith("#")
    True
    """
    if source_path is not None:
        return from_source_path(source_path)
    return resolve(torch or "auto", ask_whole=ask_whole, require_hashes=require_hashes, sink=sink)
