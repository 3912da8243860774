"""Emitters of ATen's headers and sources."""

from __future__ import annotations
