"""Files of operator libraries: entries like those of `native_functions.yaml`, and what PyTorch's entries lack."""

from __future__ import annotations
