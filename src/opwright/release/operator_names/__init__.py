"""Lists of PyTorch's operators that its YAML does not mark, one module per subject; see `release/name_table.py`."""

from __future__ import annotations
