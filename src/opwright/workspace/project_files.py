"""Folders of a project, the file with its settings, and paths that mean something else on Windows.

Programs look for this file before they know whether there is anything to do.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Collection, Iterator
from typing import Final

PROJECT_FILE: Final = "pyproject.toml"
#: Folders with what tools make or install, which has no sources of the project.
MADE_FOLDERS: Final = frozenset(("build", "dist", "node_modules", "__pycache__", "site-packages"))


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
    from importlib import import_module

    # Python 3.10 has none of its own.
    tables: dict[str, object] = import_module("tomllib" if sys.version_info >= (3, 11) else "tomli").loads(text)
    return tables
