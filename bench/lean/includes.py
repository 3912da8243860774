"""What C++ files include, and which sources have to be compiled again after some files changed."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Final

_DIRECTIVE = re.compile(
    r'^[ \t]*#[ \t]*(include[ \t]*[<"][^">\n]+|(?:if|ifdef|ifndef|elif|else|endif)\b.*)', re.MULTILINE
)
_MACRO = re.compile(r"(!?)\s*(?:defined\s*\(?\s*)?(\w+)\)?")

#: What a build for CPUs with a header for each operator defines. Both branches of all other conditions count.
DEFINED: Final[Mapping[str, bool]] = {
    "AT_PER_OPERATOR_HEADERS": True,
    **dict.fromkeys(("C10_MOBILE", "USE_CUDA", "USE_ROCM", "__CUDACC__", "__HIPCC__", "_MSC_VER", "_WIN32"), False),
}


def _condition(directive: str) -> bool | None:
    """Whether an `#if` holds; None if that is not known."""
    keyword, _, text = directive.partition(" ")
    macro = _MACRO.fullmatch(text.partition("//")[0].strip())
    if macro is None or macro[2] not in DEFINED:
        return None
    return DEFINED[macro[2]] ^ (macro[1] == "!") ^ (keyword == "ifndef")


def included(text: str) -> list[str]:
    """The names that a file includes.

    >>> included("#ifdef USE_CUDA\\n#include <a.h>\\n#else\\n#include <b.h>\\n#endif\\n")
    ['b.h']
    """
    names: list[str] = []
    conditions: list[bool | None] = []
    for directive in _DIRECTIVE.findall(text):
        if directive.startswith("include"):
            if False not in conditions:
                names.append(re.split('[<"]', directive)[1])
        elif directive.startswith("if"):
            conditions.append(_condition(directive))
        elif conditions and directive.startswith("endif"):
            conditions.pop()
        elif conditions and conditions[-1] is not None:
            conditions[-1] = not conditions[-1] if directive.startswith("else") else None
    return names


class Includes:
    """The files that files include: beside them, or in folders. `change` replaces what a file includes."""

    def __init__(self, folders: Iterable[str], change: Callable[[str, list[str]], list[str]] | None = None) -> None:
        self._folders: Final = tuple(folders)
        self._change: Final = change
        self._of: Final[dict[str, list[str]]] = {}

    def of(self, path: str) -> list[str]:
        """The files that a file includes; those that are not in the folders are left out."""
        if path not in self._of:
            with open(path, encoding="utf-8", errors="replace") as opened:
                names = included(opened.read())
            files = [file for name in names if (file := self._find(path, name)) is not None]
            self._of[path] = files if self._change is None else self._change(path, files)
        return self._of[path]

    def _find(self, path: str, name: str) -> str | None:
        for folder in (os.path.dirname(path), *self._folders):
            file = os.path.normpath(os.path.join(folder, name))
            if os.path.isfile(file):
                return file
        return None

    def compiled_again(self, sources: Iterable[str], changed: Iterable[str]) -> set[str]:
        """Those of the sources that changed, or that include a changed file, or a file that includes one, and so on."""
        included_by: dict[str, list[str]] = {}
        wanted = set(sources)
        seen, waiting = set(wanted), list(wanted)
        while waiting:
            path = waiting.pop()
            for file in self.of(path):
                included_by.setdefault(file, []).append(path)
                if file not in seen:
                    seen.add(file)
                    waiting.append(file)
        reached = set(changed)
        waiting = list(reached)
        while waiting:
            for path in included_by.get(waiting.pop(), ()):
                if path not in reached:
                    reached.add(path)
                    waiting.append(path)
        return reached & wanted
