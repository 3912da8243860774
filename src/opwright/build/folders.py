"""Making output folders."""

from __future__ import annotations

import os

__all__ = ["make_folders"]


def make_folders(path: str) -> None:
    """Make a folder and its missing parents.

    Raises OSError. If the path is too long, no folder is made.
    """
    missing: list[str] = []
    folder = path or "."
    while not _make_folder(folder):
        missing.append(folder)
        folder = os.path.dirname(folder.rstrip("/")) or "."
    for folder in reversed(missing):
        _make_folder(folder)


def _make_folder(folder: str) -> bool:
    """Make a folder, and tell whether it exists now; it does not if its parent is missing. Raises OSError."""
    try:
        os.mkdir(folder)
    except FileNotFoundError:
        return False
    except OSError:
        # Systems differ in how they report that it exists already.
        if not os.path.isdir(folder):
            raise
    return True
