"""Model of a run: dispatch keys, native functions, groups, and the catalog that links them. Data only."""

from __future__ import annotations
