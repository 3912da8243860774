"""The file with the settings of a project. Programs look for it before they know whether there is anything to do."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

__all__ = ["PROJECT_FILE", "find_project_file"]

PROJECT_FILE: Final = "pyproject.toml"


def find_project_file(folder: str) -> str | None:
    """The path of the nearest `pyproject.toml` in a folder or above it; None if there is none."""
    current = os.path.abspath(folder)
    while True:
        path = os.path.join(current, PROJECT_FILE)
        if os.path.isfile(path):
            return path
        above = os.path.dirname(current)
        if above == current:
            return None
        current = above
