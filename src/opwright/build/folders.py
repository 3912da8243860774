"""Where the outputs go: the folders of PyTorch's own build."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Final

__all__ = ["BUILD_FOLDERS", "build_folders", "make_folders"]

#: Where PyTorch's own build has each output folder, below the folder of the build.
BUILD_FOLDERS: Final[Mapping[str, str]] = {
    "aten": "aten/src/ATen",
    "ops": "aten/src/ATen/ops",
    "core": "aten/src/ATen/core",
    "headeronly": "torch/headeronly/core",
    "aoti": "torch/csrc/inductor/aoti_torch/generated",
    "autograd": "torch/csrc/autograd/generated",
    "functionalization": "torch/csrc/functionalization/generated",
    "testing": "torch/testing/_internal/generated",
}


def build_folders(out: str) -> dict[str, str]:
    """The output folders below `out`, laid out as PyTorch's own build does.

    >>> build_folders("build")["ops"]
    'build/aten/src/ATen/ops'
    """
    return {name: f"{out}/{place}" for name, place in BUILD_FOLDERS.items()}


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
