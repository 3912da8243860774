"""What identifies a run, and where runs of its kind remember what they did."""

from __future__ import annotations

import contextlib
import os
import zlib
from json import dumps

from opwright.build.folders import make_folders
from opwright.build.staging import TEMPORARY_SUFFIX

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = ["STATE_FOLDER", "Run", "real_folder", "real_path", "replace_state"]

STATE_FOLDER = ".opwright"
"""The folder below an output folder that has what runs remember there. It may be deleted at any time."""

_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)


class Run:
    """What identifies a run: the output folder that it is remembered in, its kind, and all that was asked for.

    Runs of one kind make the same files, as far as their inputs and options agree: a later one takes the place of an
    earlier one. `kind` has the families, the output folders, and what else tells kinds apart. `folders` are the output
    folders by name as the kind has them: relative to `home` if they are below it, so that the kind stays the same when
    `home` is moved. `roots` are their real paths.

    What is remembered stands in the output folder, or in the user's cache where nothing but outputs may stand there
    (`apart`). `prunes` tells whether the run removes outputs of earlier runs that are made no longer.
    """

    __slots__ = ("apart", "families", "folders", "home", "kind", "prunes", "request", "roots", "state_folder")

    def __init__(
        self,
        home: str,
        folders: Mapping[str, str],
        families: Iterable[str],
        kind: Mapping[str, object],
        request: Mapping[str, object],
        *,
        apart: bool = False,
        prunes: bool = False,
    ) -> None:
        self.home = home
        self.apart = apart
        self.prunes = prunes
        self.state_folder = _state_folder_apart(home) if apart else os.path.join(home, STATE_FOLDER)
        self.families = tuple(families)
        self.folders = {name: _folder_in_kind(home, path) for name, path in folders.items()}
        self.roots = {name: real_folder(path) for name, path in folders.items()}
        self.kind = dumps({**kind, "folders": self.folders, "families": sorted(self.families)}, sort_keys=True)
        self.request = dumps(request, sort_keys=True)

    @property
    def journal_top(self) -> str | None:
        """The folder below which the journal of runs may remove files; None where the journal is the user's own."""
        return None if self.apart else self.home

    def state_path(self, suffix: str) -> str:
        """The path of something that runs of this kind remember."""
        encoded = self.kind.encode()
        name = f"{zlib.crc32(encoded):08x}{zlib.adler32(encoded):08x}"
        return os.path.join(self.state_folder, name + suffix)


def real_folder(path: str) -> str:
    """The path of a folder with all links resolved and slashes between its parts; the top of a system is empty."""
    return os.path.realpath(path).replace(os.sep, "/").rstrip("/")


def real_path(path: str) -> str:
    """The path of a file with all links to its folder resolved; a link in place of the file itself is not followed."""
    folder, name = os.path.split(os.path.abspath(path))
    return f"{real_folder(folder)}/{name}"


def _folder_in_kind(home: str, folder: str) -> str:
    top, path = os.path.abspath(home), os.path.abspath(folder)
    if path == top:
        return ""
    return path[len(top) + 1 :].replace(os.sep, "/") if path.startswith(top + os.sep) else real_folder(path)


def _state_folder_apart(home: str) -> str:
    """Where the user's cache has what runs into an output folder remember."""
    from opwright.release.places import cache_folder

    real = os.path.realpath(home).encode("utf-8", "surrogateescape")
    return os.path.join(cache_folder(), "state", f"{zlib.crc32(real):08x}{zlib.adler32(real):08x}")


def replace_state(path: str, data: bytes) -> bool:
    """Replaces a file of the state folder, whole, and says whether that was possible."""
    temporary = f"{path}.{os.getpid()}{TEMPORARY_SUFFIX}"
    try:
        make_folders(os.path.dirname(path))
        with contextlib.suppress(FileNotFoundError):
            # Left by a process that had this number, or put here by someone.
            os.unlink(temporary)
        with open(os.open(temporary, _NEW, 0o666), "wb") as stream:
            stream.write(data)
        os.replace(temporary, path)
    except OSError:
        return False
    return True
