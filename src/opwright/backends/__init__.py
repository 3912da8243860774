"""Backends outside of PyTorch: their files, the code around their kernels, lazy tensors, and what runs on a device."""

from __future__ import annotations
