"""Code of lazy tensors: nodes of their graphs, and the kernels that make nodes instead of computing."""

from __future__ import annotations
