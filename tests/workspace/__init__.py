"""Tests of the way from slots to files."""

from __future__ import annotations
