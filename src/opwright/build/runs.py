"""What identifies a run, and where runs of its kind keep their state."""

from __future__ import annotations

import contextlib
import os
import zlib
from json import dumps

from opwright.build.folders import make_folders
from opwright.build.plain_files import read_plain_file
from opwright.build.staging import TEMPORARY_SUFFIX

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = [
    "STATE_FOLDER",
    "Run",
    "read_checked_state",
    "real_folder",
    "real_path",
    "replace_checked_state",
    "replace_state",
    "state_header",
]

STATE_FOLDER = ".opwright"
"""The folder below an output folder where runs keep their state. It may be deleted at any time."""

_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)


class Run:
    """What identifies a run: the output folder that keeps its state (`home`), its kind, and its request.

    Runs of one kind make the same files, if their inputs and options agree; the state of a later run replaces that of
    an earlier one. `kind` has the families, the output folders, and whatever else distinguishes kinds. `folders` are
    the output folders by name: relative to `home` if they are below it, so that the kind stays the same if `home` is
    moved. `roots` are their real paths.

    The state is kept in the output folder, or in the user's cache (`apart`) if the output folder may hold only outputs.
    `prunes` tells whether the run removes outputs of earlier runs that are no longer made.
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
        """The folder below which the journal may remove files; None if the journal is in the user's cache."""
        return None if self.apart else self.home

    def state_path(self, suffix: str) -> str:
        """The path of a file of the state of runs of this kind."""
        encoded = self.kind.encode()
        name = f"{zlib.crc32(encoded):08x}{zlib.adler32(encoded):08x}"
        return os.path.join(self.state_folder, name + suffix)


def real_folder(path: str) -> str:
    """The path of a folder with all links resolved and slashes between its parts; the root of a system is empty."""
    return os.path.realpath(path).replace(os.sep, "/").rstrip("/")


def real_path(path: str) -> str:
    """The path of a file with all links to its folder resolved; if the file itself is a link, it is not followed."""
    folder, name = os.path.split(os.path.abspath(path))
    return f"{real_folder(folder)}/{name}"


def _folder_in_kind(home: str, folder: str) -> str:
    top, path = os.path.abspath(home), os.path.abspath(folder)
    if path == top:
        return ""
    return path[len(top) + 1 :].replace(os.sep, "/") if path.startswith(top + os.sep) else real_folder(path)


def _state_folder_apart(home: str) -> str:
    """The folder of the user's cache with the state of runs into an output folder."""
    from opwright.release.user_cache import cache_folder

    real = os.path.realpath(home).encode("utf-8", "surrogateescape")
    return os.path.join(cache_folder(), "state", f"{zlib.crc32(real):08x}{zlib.adler32(real):08x}")


def replace_state(path: str, data: bytes) -> bool:
    """Replace a file of the state folder, whole, and tell whether that was possible."""
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


def state_header(file_format: str, body: bytes) -> str:
    """The first line of a file of the state folder: its format, and the checksum and the length of what follows."""
    return f"{file_format} {zlib.crc32(body):08x} {len(body)}"


def replace_checked_state(path: str, file_format: str, body: bytes) -> str:
    """Replace a file of the state folder, and give its header; empty if that was not possible."""
    header = state_header(file_format, body)
    return header if replace_state(path, header.encode() + b"\n" + body) else ""


def read_checked_state(path: str, file_format: str) -> tuple[str, bytes]:
    """The header of a file of the state folder, and what follows it.

    Raises OSError if the file cannot be read, and ValueError if the header is not of this format or of what follows.
    """
    header, _, body = read_plain_file(path).partition(b"\n")
    if header.decode() != state_header(file_format, body):
        raise ValueError("the header is another one")
    return header.decode(), body
