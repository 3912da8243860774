"""Benchmarks: the programs of the reference and of Opwright, measured in turns on the same inputs and flags."""

from __future__ import annotations
