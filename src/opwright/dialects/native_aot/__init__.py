"""Python modules that declare kernels compiled ahead of time."""

from __future__ import annotations
