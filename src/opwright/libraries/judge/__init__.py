"""The judge of kernels: whether a candidate computes what an entry of a library file says."""

from __future__ import annotations
