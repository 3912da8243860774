"""Opwright compiles operator schemas into the C++ and Python glue that PyTorch needs around each operator."""

from __future__ import annotations

__version__ = "0.1.0"
