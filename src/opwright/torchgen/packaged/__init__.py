"""Part of the interface that PyTorch has in its own `tools`."""

from __future__ import annotations
