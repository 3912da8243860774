"""What the tests of `opwright coverage` share: quick answers of processes with PyTorch."""

from __future__ import annotations

from tests.torch_process import _quick_answers

__all__ = ["_quick_answers"]
