"""One PyTorch release: where its inputs are, which version it is, and which rules its output follows."""

from __future__ import annotations
