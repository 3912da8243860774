"""Levels of changes, as versions have them: major, minor, patch."""

from __future__ import annotations

import enum
import re
from typing import Final


class Level(enum.Enum):
    """What a change does to the version of a package, after the rules of semantic versioning."""

    major = "something that worked no longer does"
    minor = "something new works, and all that worked still does"
    patch = "nothing that callers can see"

    __hash__ = object.__hash__


#: From the least to the greatest.
ORDER: Final = (Level.patch, Level.minor, Level.major)

_VERSION: Final = re.compile(r"(\d+)\.(\d+)(?:\.(\d+))?")


def greatest(levels: list[Level]) -> Level:
    """The greatest of some levels, that of a patch if there are none.

    >>> greatest([Level.patch, Level.major]).name, greatest([]).name
    ('major', 'patch')
    """
    return max(levels, key=ORDER.index, default=Level.patch)


def next_version(version: str, level: Level) -> str:
    """The version after one. Before 1.0 a major change makes a minor version, and a minor one a patch, as is usual.

    Raises ValueError for a text that begins with no version.

    >>> [next_version("1.4.2", level) for level in Level], next_version("0.4.2", Level.major)
    (['2.0.0', '1.5.0', '1.4.3'], '0.5.0')
    """
    parts = _VERSION.match(version)
    if parts is None:
        raise ValueError(version)
    major, minor, patch = (int(part or 0) for part in parts.groups())
    if level is Level.major and major:
        return f"{major + 1}.0.0"
    if level is Level.major or (level is Level.minor and major):
        return f"{major}.{minor + 1}.0"
    return f"{major}.{minor}.{patch + 1}"
