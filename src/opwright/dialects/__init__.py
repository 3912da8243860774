"""Input dialects: one sub-package per kind of input file, with its loader, its rules and its codes side by side."""

from __future__ import annotations
