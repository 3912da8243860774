"""Moves C++ kernels to PyTorch's stable headers: `opwright port`."""

from __future__ import annotations
