"""The families and output folders of a run that uses plug-ins, kept for the next run of its kind.

They follow from the plug-ins, so a run would have to import these to find the manifest of the run before. What is kept
here is a guess: the manifest that it leads to decides, because the sources of the plug-ins are among its inputs.
"""

from __future__ import annotations

import contextlib
import os
import zlib
from json import dumps, loads

from opwright.files.plain_files import read_plain_file
from opwright.files.state_files import STATE_FOLDER, replace_state

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["keep_families", "kept_families"]

_SUFFIX = ".families"


def _path(out: str, asked: Mapping[str, object]) -> tuple[str, str]:
    """The path of the file for what a run was asked for, and this as a text."""
    text = dumps(asked, sort_keys=True)
    encoded = text.encode()
    return os.path.join(out, STATE_FOLDER, f"{zlib.crc32(encoded):08x}{zlib.adler32(encoded):08x}{_SUFFIX}"), text


def kept_families(out: str, asked: Mapping[str, object]) -> dict[str, dict[str, str]] | None:
    """The families with their folders, by name, that a run with this request had; None if none are kept."""
    path, text = _path(out, asked)
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        data = loads(read_plain_file(path))
        families = {
            str(name): {str(folder): str(place) for folder, place in folders.items()}
            for name, folders in data["families"].items()
        }
        return families if data["asked"] == text else None
    return None


def keep_families(out: str, asked: Mapping[str, object], families: Mapping[str, Mapping[str, str]] | None) -> None:
    """Keep the families of a run with their folders, or, given None, keep nothing about such runs."""
    path, text = _path(out, asked)
    if families is not None:
        data = dumps({"asked": text, "families": {name: {**own} for name, own in families.items()}})
        replace_state(path, data.encode())
    else:
        with contextlib.suppress(OSError):
            os.unlink(path)
