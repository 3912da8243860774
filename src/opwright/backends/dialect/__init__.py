"""Backend files: the operators that a backend outside PyTorch implements, and how."""

from __future__ import annotations
