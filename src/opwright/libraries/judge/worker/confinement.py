"""What keeps a candidate from other processes, the network, and more time and memory than it has."""

from __future__ import annotations

import contextlib
import ctypes
import mmap
import os
import resource
from typing import Final

from .protocol import JsonMessage

C: Final = ctypes.CDLL(None, use_errno=True)

#: Flags of `unshare`.
NEW_USER, NEW_PROCESSES, NEW_NETWORK = 0x10000000, 0x20000000, 0x40000000
#: `PR_SET_DUMPABLE`, `PR_CAPBSET_DROP`, `PR_SET_NO_NEW_PRIVS`, and the right to read the memory of other processes.
_DUMPABLE, _DROP_BOUND, _NO_NEW_PRIVILEGES, _CAN_TRACE = 4, 24, 38, 19


def hide_memory() -> None:
    """Let no other process of the user read the memory of this one."""
    C.prctl(_DUMPABLE, 0, 0, 0, 0)


def unshare(flag: int) -> bool:
    """Whether the process has a new namespace of a kind. Who is not root needs one of users first."""
    if C.unshare(flag) == 0:
        return True
    user, group = os.getuid(), os.getgid()
    if user == 0 or C.unshare(NEW_USER) != 0:
        return False
    maps = (("setgroups", "deny"), ("uid_map", f"{user} {user} 1"), ("gid_map", f"{group} {group} 1"))
    with contextlib.suppress(OSError):
        for name, text in maps:
            with open(f"/proc/self/{name}", "w", encoding="ascii") as stream:
                stream.write(text)
    return bool(C.unshare(flag) == 0)


def limit(message: JsonMessage) -> None:
    """Limit time, memory and files, and give up the right to read the memory of other processes."""
    seconds, memory = int(message["seconds"]), int(message["memory"])
    with open("/proc/self/statm", encoding="ascii") as stream:
        used = int(stream.read().split()[0]) * mmap.PAGESIZE
    for limit, value in (
        (resource.RLIMIT_CPU, seconds),
        (resource.RLIMIT_AS, used + memory),
        (resource.RLIMIT_FSIZE, memory),
        (resource.RLIMIT_CORE, 0),
    ):
        # The signal of the first limit of time says that it was reached; the second one kills without a word.
        hard = value + 10 if limit == resource.RLIMIT_CPU else value
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(limit, (value, hard))
    C.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0)
    if os.getuid() == 0:
        C.prctl(_DROP_BOUND, _CAN_TRACE, 0, 0, 0)
        head, sets = (ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)()
        if C.capget(head, sets) == 0:
            for part in range(3):
                sets[part] &= ~(1 << _CAN_TRACE)
            C.capset(head, sets)
    os.chdir(message["folder"])
    sink = os.open(message["log"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    for stream_number in (1, 2):
        os.dup2(sink, stream_number)
    os.close(sink)
