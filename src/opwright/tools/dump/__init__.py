"""Dumps: a catalog as data with a published JSON Schema, with the input files that it was loaded from."""

from __future__ import annotations
