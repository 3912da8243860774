"""Increments: what a run keeps for the next one, and how that makes again only what changed."""

from __future__ import annotations
