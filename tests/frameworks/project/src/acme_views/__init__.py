"""Operators for PyTorch, JAX and callers of TVM FFI."""

from __future__ import annotations
