"""The headers of PyTorch's stable C++ API in a release, read from its wheel without installing it.

A binary that is compiled with the headers of the oldest release that it serves cannot use anything that came later.
These headers include no others of PyTorch.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from typing import Final

from opwright.release.fetch import Consent, open_wheel
from opwright.release.index import PYTORCH
from opwright.release.user_cache import cache_folder
from opwright.source.codes import INPUT_MISSING
from opwright.source.diagnostic import Fault

__all__ = ["stable_headers"]

_INCLUDE: Final = "torch/include/"
_FOLDERS: Final = tuple(
    [f"{_INCLUDE}torch/{folder}/" for folder in ("csrc/stable", "headeronly", "csrc/inductor/aoti_torch")]
)
#: The header without which there are no libraries with the stable interface.
_LIBRARY: Final = f"{_INCLUDE}torch/csrc/stable/library.h"


def stable_headers(version: str, consent: Consent | None = None) -> str:
    """The folder of the headers for an include path, such as those of `2.10.0`, kept in the user's cache.

    Raises Fault if there is no such release, or if it has no stable API.
    """
    root = os.path.join(cache_folder(), "stable-headers")
    folder = os.path.join(root, version)
    if os.path.isdir(folder):
        return folder
    wheel = open_wheel(PYTORCH, version, consent)
    names = [name for name in wheel.names(_INCLUDE) if name.startswith(_FOLDERS) and not name.endswith("/")]
    if _LIBRARY not in names:
        raise Fault.at(INPUT_MISSING, f"PyTorch {version} has no stable C++ API", help="name 2.10.0 or a later release")
    contents = wheel.read(names)
    os.makedirs(root, exist_ok=True)
    fresh = tempfile.mkdtemp(dir=root, prefix=".new-")
    try:
        for name in names:
            path = os.path.join(fresh, *name.removeprefix(_INCLUDE).split("/"))
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "wb") as stream:
                stream.write(contents[name])
        # Another process may have been quicker; its headers are the same.
        if not os.path.isdir(folder):
            os.rename(fresh, folder)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)
    return folder
