"""Differences between two catalogs: what changed, and whom each change breaks."""

from __future__ import annotations
