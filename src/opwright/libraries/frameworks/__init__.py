"""The code of libraries whose kernels get borrowed tensors, for PyTorch, JAX and TVM FFI."""

from __future__ import annotations
