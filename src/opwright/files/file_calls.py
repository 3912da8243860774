"""Calls of the system with which a file is replaced while other programs may write it.

Python's library has neither of them. Where the system or the file system lacks one, callers go on without it.
"""

from __future__ import annotations

import contextlib
import errno
import os
import signal
import time
from collections.abc import Callable, Iterator
from functools import cache

_CURRENT_FOLDER = -100
_EXCHANGE = 2
_NOT_SUPPORTED = frozenset({errno.EINVAL, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EPERM})

_ATTEMPTS = 40
_PAUSE_SECONDS = 0.005


class FileBusy(Exception):
    """Raised for a lease on a file that another program has open."""


def exchange_files(first: str, second: str) -> bool:
    """Exchange two files of the same file system in one step, or give False where that is not possible.

    Raises OSError, such as FileNotFoundError if one of the files is missing.
    """
    call = _exchange_call()
    if call is None:
        return False
    number = call(first, second)
    if number in _NOT_SUPPORTED:
        return False
    if number:
        raise OSError(number, os.strerror(number), second)
    return True


@cache
def _exchange_call() -> Callable[[str, str], int] | None:
    """The function that exchanges two files and gives the number of the error, or 0; None if the system has none."""
    import ctypes

    try:
        rename = ctypes.CDLL(None, use_errno=True).renameat2
    except (AttributeError, OSError, TypeError):
        return None

    def call(first: str, second: str) -> int:
        paths = os.fsencode(first), os.fsencode(second)
        failed = rename(_CURRENT_FOLDER, paths[0], _CURRENT_FOLDER, paths[1], ctypes.c_uint(_EXCHANGE))
        return ctypes.get_errno() if failed else 0

    return call


@contextlib.contextmanager
def lease(handle: int, *, for_writing: bool) -> Iterator[Callable[[], bool]]:
    """A context in which no other program can open a file to write it, or `for_writing` to read it: it waits.

    The handle is open for reading alone, or `for_writing` for both. The function that the context gives tells whether
    no program waits. Where there are no leases, nobody waits and the function gives True. Raises FileBusy if another
    program has the file open already.
    """
    if not _is_leased(handle, for_writing):
        yield lambda: True
        return
    import fcntl

    try:
        yield lambda: fcntl.fcntl(handle, fcntl.F_GETLEASE) == _kind(for_writing)
    finally:
        fcntl.fcntl(handle, fcntl.F_SETLEASE, fcntl.F_UNLCK)


def _is_leased(handle: int, for_writing: bool) -> bool:
    """Take the lease, and tell whether there is one now."""
    try:
        import fcntl

        set_signal, set_lease, kind = fcntl.F_SETSIG, fcntl.F_SETLEASE, _kind(for_writing)
    except (ImportError, AttributeError):
        return False
    # The system sends a signal when a program waits. Nobody listens to this one, and it ends no process.
    fcntl.fcntl(handle, set_signal, signal.SIGURG)
    for _ in range(_ATTEMPTS):
        try:
            fcntl.fcntl(handle, set_lease, kind)
        except BlockingIOError:
            time.sleep(_PAUSE_SECONDS)
        except OSError:
            return False
        else:
            return True
    raise FileBusy


def _kind(for_writing: bool) -> int:
    import fcntl

    return fcntl.F_WRLCK if for_writing else fcntl.F_RDLCK
