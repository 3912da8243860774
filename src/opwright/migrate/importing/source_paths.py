"""The sources in the folders of a project, without those that are not its own.

A copy of another project, and what version control ignores because a build makes it, are not for a move to change. What
git ignores is read from its files of patterns: no program of a repository runs. Tracked files that match count as
ignored too, and so stay as they are.
"""

from __future__ import annotations

import fnmatch
import os
import re
from collections.abc import Iterable, Sequence
from pathlib import PurePath
from typing import Final

from opwright.source.records import NamedTuple
from opwright.workspace.project_files import folders_above

#: Folders for copies of other projects.
_COPIES: Final = frozenset(
    ("third_party", "third-party", "thirdparty", "3rdparty", "vendor", "vendored", "node_modules")
)
_REPOSITORY: Final = ".git"
#: How much of a file of patterns is read: more than anyone writes.
_LONGEST_FILE: Final = 200_000


class SourcePaths(NamedTuple):
    """The files that are read, and the files and folders that are left out, with the reason."""

    read: Sequence[str]
    left_out: Sequence[tuple[str, str]] = ()


class _Rule(NamedTuple):
    """A pattern of a `.gitignore`: the parts of a path below its folder that it matches."""

    folder: str
    parts: tuple[str, ...]
    is_for_folders: bool
    is_negated: bool

    def matches(self, path: str, *, is_folder: bool) -> bool:
        """Whether the pattern matches an absolute path below its folder."""
        if self.is_for_folders and not is_folder:
            return False
        names = PurePath(os.path.relpath(path, self.folder)).parts
        ends = {0}
        for index, part in enumerate(self.parts):
            if part != "**":
                ends = {end + 1 for end in ends if end < len(names) and fnmatch.fnmatchcase(names[end], part)}
            elif ends:
                # At the end it stands for what is below, and elsewhere for any folders, or none.
                ends = set(range(min(ends) + (index == len(self.parts) - 1), len(names) + 1))
        return len(names) in ends


def source_paths(sources: Iterable[str], endings: tuple[str, ...]) -> SourcePaths:
    """The files that sources name, and those with these endings in the folders among them.

    Hidden folders are left out without a word.
    """
    read: list[str] = []
    left_out: list[tuple[str, str]] = []
    for source in sources:
        if not os.path.isdir(source):
            read.append(source)
            continue
        rules = {os.path.abspath(source): _rules_above(source)}
        for folder, folders, names in os.walk(source):
            here = os.path.abspath(folder)
            own = rules[here] = [*rules[here], *_rules(here, os.path.join(here, ".gitignore"))]
            reasons = {name: _why_left_out(os.path.join(here, name), own) for name in sorted(folders)}
            left_out += [(os.path.join(folder, name), why) for name, why in reasons.items() if why and name[0] != "."]
            folders[:] = [name for name, why in reasons.items() if not why and not name.startswith(".")]
            rules.update({os.path.join(here, name): own for name in folders})
            for name in sorted(names):
                if not name.endswith(endings):
                    continue
                if _is_ignored(os.path.join(here, name), own, is_folder=False):
                    left_out.append((os.path.join(folder, name), "version control ignores it"))
                else:
                    read.append(os.path.join(folder, name))
    return SourcePaths(read, left_out)


def _why_left_out(folder: str, rules: Sequence[_Rule]) -> str:
    """Why the sources in a folder are not those of the project; empty if they are."""
    if os.path.basename(folder).lower() in _COPIES:
        return "its name is that of a folder for copies of other projects"
    if os.path.lexists(os.path.join(folder, _REPOSITORY)):
        return "it is a repository of its own"
    return "version control ignores it" if _is_ignored(folder, rules, is_folder=True) else ""


def _is_ignored(path: str, rules: Sequence[_Rule], *, is_folder: bool) -> bool:
    """Whether the last of the rules that match says so."""
    return next((not rule.is_negated for rule in reversed(rules) if rule.matches(path, is_folder=is_folder)), False)


def _rules_above(top: str) -> list[_Rule]:
    """The rules for a folder from the folders above it in its repository.

    There are none if it is ignored itself: who names it means it.
    """
    above = [*folders_above(top)]
    depth = next((index for index, path in enumerate(above) if os.path.lexists(os.path.join(path, _REPOSITORY))), 0)
    rules = _rules(above[depth], os.path.join(above[depth], _REPOSITORY, "info", "exclude"))
    for folder, inner in zip(above[depth:0:-1], above[depth - 1 :: -1] if depth else (), strict=False):
        rules += _rules(folder, os.path.join(folder, ".gitignore"))
        if _is_ignored(inner, rules, is_folder=True):
            return []
    return rules


def _rules(folder: str, path: str) -> list[_Rule]:
    """The rules of a file of patterns for what is below a folder; none if it cannot be read."""
    try:
        with open(path, encoding="utf-8-sig", errors="surrogateescape", newline="\n") as file:
            lines = file.read(_LONGEST_FILE).split("\n") if os.path.isfile(path) else []
    except OSError:
        return []
    return [rule for line in lines if (rule := _rule(folder, line.removesuffix("\r"))) is not None]


def _rule(folder: str, line: str) -> _Rule | None:
    """The rule of a line; None for a comment and an empty line."""
    text = line.rstrip(" ")
    if len(text) < len(line) and text.endswith("\\"):
        text += " "
    is_negated = text.startswith("!")
    text = text[is_negated:]
    if not text.strip("/") or (text.startswith("#") and not is_negated):
        return None
    is_for_folders, text = text.endswith("/"), text.rstrip("/")
    parts = [part if part == "**" else _shell_pattern(part) for part in text.split("/")]
    if len(parts) == 1:
        parts = ["**", *parts]
    return _Rule(folder, tuple(parts[1:] if parts[0] == "" else parts), is_for_folders, is_negated)


def _shell_pattern(part: str) -> str:
    """A pattern of git in the form of `fnmatch`, which has no backslashes and begins complements with `!` alone."""
    return re.sub(r"\\(.)|\[\^", lambda match: f"[{match[1]}]" if match[1] else "[!", part, flags=re.DOTALL)
