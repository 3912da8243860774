"""Dialect of ExecuTorch: `functions.yaml` and `custom_ops.yaml`, which name the kernels of operators."""

from __future__ import annotations
