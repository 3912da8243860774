"""Small operators for images and for attention."""

from __future__ import annotations

from pathlib import Path

from acme._load import load_library

load_library()

from acme._ops import *  # noqa: E402, F403
from acme._ops import __all__ as __all__  # noqa: E402


def get_include() -> str:
    """The folder of the headers, for C++ that calls these operators."""
    return str(Path(__file__).with_name("include"))


def get_cmake_dir() -> str:
    """The folder of the CMake package, for `-Dacme_DIR=`."""
    return str(Path(__file__).with_name("cmake"))
