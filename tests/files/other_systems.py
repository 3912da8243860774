"""Programs for a process in which Python behaves as on Windows or macOS, as far as files and processes go.

`python -m tests.files.other_systems windows check acme.yaml` runs a command so. What is simulated: functions and flags
that the system lacks; handles that translate line ends unless they are opened as binary; text files with the system's
line ends; files that cannot be replaced or removed while they are open; locks of `msvcrt`.
"""

from __future__ import annotations

import builtins
import ctypes
import errno
import fcntl
import io
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import types
from collections.abc import Callable

import platformdirs

SYSTEMS = ("windows", "macos")
_BINARY = 1 << 30


def become(system: str) -> None:
    """Change the modules of this process to those of another system."""
    # These call what the system really has, which they find when they are imported.
    _ = (platformdirs, shutil, signal, subprocess, tempfile)
    _lack(os, "sched_getaffinity")
    ctypes.CDLL = _without_symbols  # type: ignore[assignment, misc]
    if system == "macos":
        sys.platform = "darwin"
        _lack(fcntl, "F_SETLEASE", "F_GETLEASE", "F_SETSIG")
        return
    sys.platform = "win32"
    _lack(os, "fork", "O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC", "O_DIRECTORY", "fchmod", "getuid", "geteuid", "link")
    os.supports_dir_fd = set()
    os.O_BINARY = _BINARY  # type: ignore[attr-defined]
    sys.modules["msvcrt"] = _locks(fcntl.flock)
    sys.modules["fcntl"] = None  # type: ignore[assignment]
    _translate_handles()
    _translate_texts()
    for name in ("replace", "rename", "unlink", "remove"):
        setattr(os, name, _closed_alone(getattr(os, name)))


def _lack(module: types.ModuleType, *names: str) -> None:
    for name in names:
        vars(module).pop(name, None)


def _without_symbols(*arguments: object, **named: object) -> object:
    raise OSError("no such library")


def _locks(flock: Callable[[int, int], None]) -> types.ModuleType:
    """The module `msvcrt`, whose locks do not wait."""
    module = types.ModuleType("msvcrt")
    exclusive, now = fcntl.LOCK_EX, fcntl.LOCK_NB

    def locking(handle: int, mode: int, size: int) -> None:
        assert (mode, size) == (2, 1)
        flock(handle, exclusive | now)

    vars(module).update(LK_NBLCK=2, locking=locking)
    return module


def _translate_handles() -> None:
    """Give handles that are not opened as binary the line ends of Windows."""
    texts: set[int] = set()
    real_open, real_read, real_write, real_close = os.open, os.read, os.write, os.close

    def open_file(path: str, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        assert dir_fd is None
        handle = real_open(path, flags & ~_BINARY, mode)
        if not flags & _BINARY:
            texts.add(handle)
        return handle

    def write(handle: int, data: bytes) -> int:
        if handle not in texts:
            return real_write(handle, data)
        real_write(handle, bytes(data).replace(b"\n", b"\r\n"))
        return len(data)

    def read(handle: int, size: int) -> bytes:
        data = real_read(handle, size)
        return data.replace(b"\r\n", b"\n") if handle in texts else data

    def close(handle: int) -> None:
        texts.discard(handle)
        real_close(handle)

    vars(os).update(open=open_file, read=read, write=write, close=close)


def _translate_texts() -> None:
    """Give text files the line ends and the encoding of Windows, where the program does not ask for others."""
    real = io.open

    def open_file(file: str, mode: str = "r", *rest: object, **named: object) -> object:
        if "b" not in mode:
            defaults = dict(zip(("buffering", "encoding", "errors", "newline"), rest, strict=False)) | named
            writes = not {"w", "a", "x", "+"}.isdisjoint(mode)
            named = {
                **defaults,
                "encoding": defaults.get("encoding") or "cp1252",
                "newline": "\r\n" if writes and defaults.get("newline") is None else defaults.get("newline"),
            }
            rest = ()
        return real(file, mode, *rest, **named)  # type: ignore[call-overload]

    builtins.open = open_file  # type: ignore[assignment]
    io.open = open_file  # type: ignore[assignment]


def _closed_alone(call: Callable[..., None]) -> Callable[..., None]:
    """A call that fails where one of its files is open in this process."""

    def checked(*paths: str, dir_fd: int | None = None) -> None:
        assert dir_fd is None
        for path in paths:
            if os.path.realpath(path) in _open_files():
                raise PermissionError(errno.EACCES, "the file is open in a process", os.fspath(path))
        call(*paths)

    return checked


def _open_files() -> set[str]:
    """The files that this process has open."""
    names = set()
    for handle in os.listdir("/proc/self/fd"):
        try:
            names.add(os.readlink(f"/proc/self/fd/{handle}"))
        except OSError:
            continue
    return names


if __name__ == "__main__":
    become(sys.argv[1])
    from opwright.cli.main import main

    sys.exit(main(sys.argv[2:]))
