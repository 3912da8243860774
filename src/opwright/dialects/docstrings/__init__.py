"""The modules with docstrings of functions and methods that C++ code binds: `_torch_docs.py`, `_tensor_docs.py`."""

from __future__ import annotations
