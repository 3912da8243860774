"""The file with the settings of a project. Programs look for it before they know whether there is anything to do."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

__all__ = ["PROJECT_FILE", "find_project_file", "load_toml"]

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


def load_toml(text: str) -> dict[str, object]:
    """The tables of a text in TOML. Raises ValueError with the place of what is not TOML.

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
