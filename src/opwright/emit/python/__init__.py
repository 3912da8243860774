"""Emitters of the Python bindings."""

from __future__ import annotations
