"""Type stubs of `torch.ops`, for type checkers and editors."""

from __future__ import annotations
