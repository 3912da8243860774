"""Files of the state folder, which are replaced whole and start with a checksum of what follows."""

from __future__ import annotations

import contextlib
import os
import zlib

from opwright.files.plain_files import make_folders, read_plain_file
from opwright.files.staging import TEMPORARY_SUFFIX

__all__ = ["STATE_FOLDER", "read_checked_state", "replace_checked_state", "replace_state", "state_header"]

STATE_FOLDER = ".opwright"
"""The folder below an output folder where runs keep their state. It may be deleted at any time."""

_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)


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
