"""Moving in: libraries and kernels that exist, as library files and as ports to PyTorch's stable headers."""

from __future__ import annotations
