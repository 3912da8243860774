"""An operator with kernels for CUDA and for the CPU."""

from __future__ import annotations

from norms._load import load_library  # type: ignore[import-not-found]

load_library()

from norms._ops import *  # type: ignore[import-not-found] # noqa: E402, F403
