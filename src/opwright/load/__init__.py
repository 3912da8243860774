"""YAML nodes to the model: one module for each part of an entry, the synthesis of missing variants, the groups."""

from __future__ import annotations

from opwright.load.catalog import load_catalog
from opwright.load.tags import load_tags

__all__ = ["load_catalog", "load_tags"]
