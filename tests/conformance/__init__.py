"""Conformance: PyTorch's generator and Opwright run on the same inputs and flags, and every byte is compared."""

from __future__ import annotations
