"""Building operator libraries: what setuptools, CMake and notebooks share. Only these modules import PyTorch, late."""

from __future__ import annotations
