"""Stubs for type checkers and editors: what is known of `torch.ops` before a program runs."""

from __future__ import annotations
