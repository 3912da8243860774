"""`fallback_ops.py`: the operators that have a C shim."""

from __future__ import annotations
