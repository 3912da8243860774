"""Benchmarks: whole programs of the reference and of Opwright in turns, on the same inputs and flags."""

from __future__ import annotations
