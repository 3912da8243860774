"""Sources that are others than at the last build, and no newer than what was built from them.

Ninja compiles what is newer than its object. A source that version control, `cp -p` or `rsync -t` brings back has its
old time, so its object stays that of the text which is gone. Builds note which files they read. An object is removed
if one of its files is another one but not a newer one.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Final, TypeAlias

from opwright.files.plain_files import file_status
from opwright.files.staging import read_checked_state, replace_checked_state

_FORMAT: Final = "opwright-read 1"
#: An output in the list that Ninja prints, and how a line with one of its files begins.
_OUTPUT: Final = re.compile(r"(.*): #deps \d+, ")
_FILE: Final = "    "
#: In place of the status of a file that may not be the one that was compiled.
_UNSETTLED: Final = [0, 0, 0]

_Status: TypeAlias = "list[int]"


class ReadFiles:
    """The files that each output of a build folder was made from, as they were at the last build."""

    def __init__(self, folder: str) -> None:
        self._folder: Final = folder
        self._path: Final = os.path.join(folder, "opwright", "read")
        self._started: Final = time.time_ns()

    def forget_restored(self) -> list[str]:
        """Remove each output of which a file is another one and no newer, so that it is made anew; give their paths."""
        removed = []
        statuses: dict[str, _Status | None] = {}
        for output, files in self._noted().items():
            status = _status(output)
            for path, before in files.items():
                if path not in statuses:
                    statuses[path] = _status(path)
                now = statuses[path]
                if status is not None and now is not None and now != before and _time(path) <= _time(output):
                    with suppress(OSError):
                        os.remove(output)
                        removed.append(output)
                    break
        return removed

    def note(self, more: Mapping[str, Iterable[str]]) -> None:
        """Note the files of what Ninja made, and those of other outputs."""
        read = {output: list(files) for output, files in more.items()}
        for output, files in self._made_by_ninja().items():
            read.setdefault(output, []).extend(files)
        statuses = {path: self._settled(path) for files in read.values() for path in files}
        noted = {
            output: {path: statuses[path] for path in files if statuses[path] is not None}
            for output, files in read.items()
        }
        replace_checked_state(self._path, _FORMAT, json.dumps(noted).encode())

    def _settled(self, path: str) -> _Status | None:
        """Status of a file that an output has; no file's, if it changed while the build ran."""
        status = _status(path)
        return status if status is None or _time(path) < self._started else _UNSETTLED

    def _noted(self) -> dict[str, dict[str, _Status]]:
        try:
            body = read_checked_state(self._path, _FORMAT)
            noted: dict[str, dict[str, _Status]] = json.loads(body)
        except (OSError, ValueError):
            return {}
        return noted

    def _made_by_ninja(self) -> dict[str, list[str]]:
        """The files that compilers told Ninja of, by the objects that they are in; none without Ninja."""
        command = ["ninja", "-t", "deps"]
        try:
            done = subprocess.run(command, cwd=self._folder, capture_output=True, text=True, check=False)
        except OSError:
            return {}
        read: dict[str, list[str]] = {}
        files: list[str] = []
        for line in done.stdout.splitlines():
            output = _OUTPUT.match(line)
            if output is not None:
                files = read[os.path.join(self._folder, output[1])] = []
            elif line.startswith(_FILE):
                files.append(os.path.join(self._folder, line.strip()))
        return read


def _status(path: str) -> _Status | None:
    try:
        return list(file_status(os.stat(path)))
    except OSError:
        return None


def _time(path: str) -> int:
    return os.stat(path).st_mtime_ns
