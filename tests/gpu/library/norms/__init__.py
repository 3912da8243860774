"""An operator with kernels for CUDA and for the CPU."""

from __future__ import annotations

from norms._load import load_library

load_library()

from norms._ops import *  # noqa: E402, F403
