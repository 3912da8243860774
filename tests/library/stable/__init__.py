"""A library that uses the stable C++ API of PyTorch."""

from __future__ import annotations
