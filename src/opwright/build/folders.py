"""Making output folders."""

from __future__ import annotations

import os

__all__ = ["make_folders"]

def make_folders(path: str) -> None:
    """Make a folder with those above it, however many there are, where it is not there yet.

    Raises OSError; where the path is too long, before it makes any.
    """
    missing: list[str] = []
    folder = path or "."
    while not _is_made(folder):
        missing.append(folder)
        folder = os.path.dirname(folder.rstrip("/")) or "."
    for folder in reversed(missing):
        _is_made(folder)


def _is_made(folder: str) -> bool:
    """Make a folder, and say whether it is there now: it is not where the one above it is missing. Raises OSError."""
    try:
        os.mkdir(folder)
    except FileNotFoundError:
        return False
    except OSError:
        # Systems differ in how they say that it is there already.
        if not os.path.isdir(folder):
            raise
    return True
