"""Folders of a project, and the file with its settings.

Programs look for this file before they know whether there is anything to do.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from typing import Final

PROJECT_FILE: Final = "pyproject.toml"


def folders_above(folder: str) -> Iterator[str]:
    """Absolute path of a folder, and those of the folders above it, the nearest first."""
    current = os.path.abspath(folder)
    while True:
        yield current
        above = os.path.dirname(current)
        if above == current:
            return
        current = above


def files_below(
    top: str, endings: tuple[str, ...], *, skipped: Collection[str] = (), most: int | None = None
) -> Iterator[str]:
    """Paths below a folder that have these endings, sorted by folder.

    Hidden folders and those with `skipped` names are left out. The search ends where it would look at more than `most`
    files.
    """
    seen = 0
    for folder, folders, names in os.walk(top):
        folders[:] = sorted(name for name in folders if not name.startswith(".") and name not in skipped)
        seen += len(names)
        if most is not None and seen > most:
            return
        for name in sorted(names):
            path = os.path.join(folder, name)
            if path.endswith(endings):
                yield path


def find_project_file(folder: str) -> str | None:
    """Path of the nearest `pyproject.toml` in a folder or above it; None if there is none."""
    paths = (os.path.join(current, PROJECT_FILE) for current in folders_above(folder))
    return next(filter(os.path.isfile, paths), None)


def load_toml(text: str) -> dict[str, object]:
    """Tables of a text in TOML. Raises ValueError with the place of what is not TOML.

    >>> load_toml("[tool.opwright]\\nplugins = []")
    {'tool': {'opwright': {'plugins': []}}}
    """
    try:
        import tomllib  # novermin: tomli stands in below 3.11
    except ModuleNotFoundError:
        # Python 3.10 lacks it.
        import tomli as tomllib
    tables: dict[str, object] = tomllib.loads(text)
    return tables
