"""Operators with kernels for CUDA."""

from __future__ import annotations

from acme_cuda._load import load_library  # type: ignore[import-not-found]

load_library()
