"""What is not collected here: a program for PyTorch's interpreter."""

from __future__ import annotations

collect_ignore_glob = ["runtime*.py"]
