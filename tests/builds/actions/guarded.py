"""Runs Opwright, and ends the process as soon as it does what a hermetic action may not do.

    python -I -S -B guarded.py SETTINGS ARGUMENT ...

SETTINGS is JSON: `imports` is the folder of the packages, `reads` are the folders that may be read besides the standard
library, `writes` is the folder that may be written, and `log` gets the path of each file that was read. The guard holds
in child processes too, because these are copies.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_CHANGES = ("os.mkdir", "os.remove", "os.rename", "os.rmdir", "os.link", "os.symlink", "os.chmod", "os.utime")
_FORBIDDEN = ("socket.", "subprocess.", "os.system", "os.exec", "os.posix_spawn", "os.spawn", "urllib.", "ctypes.")


def refuse(text: str) -> None:
    """End the process, and say why."""
    os.write(2, f"not hermetic: {text}\n".encode())
    os._exit(99)


def real(path: object) -> str:
    """An absolute path; empty for a file that is open already."""
    return os.path.abspath(os.fsdecode(path)) if isinstance(path, (str, bytes)) else ""


class Guard:
    """The audit hook."""

    def __init__(self, settings: dict[str, Any]) -> None:
        self.imports = settings["imports"]
        self.output = settings["writes"]
        library = os.path.dirname(os.__file__)
        self.readable = tuple(f"{folder}/" for folder in (self.output, library, *settings["reads"]))
        self.log = os.open(settings["log"], os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def __call__(self, event: str, arguments: tuple[Any, ...]) -> None:
        """Look at one event."""
        if event.startswith(_FORBIDDEN):
            refuse(f"{event} {arguments[:2]}")
        elif event == "open":
            self.open(real(arguments[0]), arguments[2])
        elif event in ("os.listdir", "os.scandir"):
            # A process asks how many threads it has before it makes a copy of itself.
            if not f"{real(arguments[0])}/".startswith((*self.readable, "/proc/self/task/")):
                refuse(f"lists {arguments[0]}")
        elif event in _CHANGES:
            for path in map(real, arguments):
                if path:
                    self.change(path, event)

    def open(self, path: str, flags: int) -> None:
        """Look at a file that is about to be opened."""
        if not path or path == os.devnull:
            return
        if flags & _WRITES:
            self.change(path, "writes")
        if not path.startswith(self.readable) or "/site-packages/" in path.removeprefix(self.imports):
            refuse(f"reads {path}")
        os.write(self.log, f"{path}\n".encode())

    def change(self, path: str, what: str) -> None:
        """Look at a file or folder that is about to be changed."""
        if path != self.output and not path.startswith(f"{self.output}/"):
            refuse(f"{what} {path}")


def main() -> None:
    """Run Opwright under the guard."""
    settings = json.loads(sys.argv[1])
    sys.argv[1:] = sys.argv[2:]
    sys.path.insert(0, settings["imports"])
    sys.addaudithook(Guard(settings))
    from opwright.cli.main import program

    program()


if __name__ == "__main__":
    main()
