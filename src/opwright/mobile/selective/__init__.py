"""Selective builds: reading, merging, closing, explaining and writing selections of operators."""

from __future__ import annotations
