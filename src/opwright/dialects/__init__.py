"""Input dialects: a package or a module per kind of input file, with its loader and its rules side by side."""

from __future__ import annotations
