"""Operator libraries: their builds, imports and ports."""

from __future__ import annotations
