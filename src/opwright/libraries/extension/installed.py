"""What builds of a package put where, so that the next build takes away what is no longer generated."""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Mapping
from typing import Final

from opwright.files.plain_files import read_plain_file, real_path, remove_below
from opwright.files.staging import replace_state
from opwright.files.writer import HEAD, MARK, check_replaced, write_file

#: What follows the name of a place where files are noted that do not say that they are generated.
_UNMARKED: Final = ", without a mark"


class BuildRecord:
    """Names of the files that builds of an extension put into each place, in a file of the build folder."""

    __slots__ = ("_names", "_path")

    def __init__(self, path: str) -> None:
        self._path: Final = path
        self._names: Final[dict[str, list[str]]] = _read(path)

    def check(self, folder: str, files: Mapping[str, str], help: str, *, places: Collection[str]) -> None:
        """Raises Fault (E1212) for a file in a folder that one of these would replace, and that somebody wrote.

        What earlier builds put into the places may have no mark that it is generated, as that of plug-ins.
        """
        unmarked = {name for place in places for name in self._names.get(f"{place}{_UNMARKED}", ())}
        for name, path in files.items():
            if name not in unmarked and os.path.getsize(path):
                with open(path, "rb") as stream:
                    check_replaced(os.path.join(folder, name), stream.read(), help)

    def install(self, place: str, folder: str, files: Mapping[str, str], *, copied_from: str = "") -> None:
        """Put files, by name, into the folder of a place, and remove from it what earlier builds put there besides.

        Files with the same bytes are left alone, and others replaced; `check` says which must not be. `copied_from` is
        a place whose files another command copies into this one. Raises Fault for a file that cannot be written.
        """
        places = (place, copied_from)
        earlier = {name for each in places for name in self._names.get(each, ())}
        unmarked = {name for each in places for name in self._names.get(f"{each}{_UNMARKED}", ())}
        gone = [
            name.replace(os.sep, "/")
            for name in earlier.difference(files)
            if name in unmarked or _says_generated(os.path.join(folder, name))
        ]
        remove_below(os.path.realpath(folder), gone)
        for name, path in files.items():
            if not os.path.getsize(path) and os.path.exists(os.path.join(folder, name)):
                # A file such as `py.typed` says all by being there, and the project's may say more.
                continue
            with open(path, "rb") as stream:
                write_file(real_path(os.path.join(folder, name)), stream.read())
        self.note(place, files)
        self.note(f"{place}{_UNMARKED}", [name for name, path in files.items() if not _says_generated(path)])

    def note(self, subject: str, names: Collection[str]) -> bool:
        """Note names about a subject, and tell whether they are those that the last build noted."""
        is_same = self._names.get(subject) == sorted(names)
        if not is_same:
            self._names[subject] = sorted(names)
            replace_state(self._path, json.dumps(self._names).encode())
        return is_same


def _read(path: str) -> dict[str, list[str]]:
    """Names in a record; none if it is missing or damaged."""
    try:
        names = json.loads(read_plain_file(path))
    except (OSError, ValueError):
        return {}
    if not isinstance(names, dict):
        return {}
    return {
        place: [name for name in build_name if isinstance(name, str)]
        for place, build_name in names.items()
        if isinstance(build_name, list)
    }


def _says_generated(path: str) -> bool:
    """Whether a file says that it is generated.

    >>> _says_generated(__file__), _says_generated("nowhere")
    (False, False)
    """
    try:
        with open(path, "rb") as stream:
            return MARK.search(stream.read(HEAD).decode(errors="replace")) is not None
    except OSError:
        return False
