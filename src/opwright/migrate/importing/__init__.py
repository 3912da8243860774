"""Operator libraries that exist, read into library files: from C++ and Python sources, or from a process."""

from __future__ import annotations
