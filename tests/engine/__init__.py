"""Tests of runs one after the other, at once, and cut short."""

from __future__ import annotations
