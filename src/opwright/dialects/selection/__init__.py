"""Selections: YAML that lists the operators that a build keeps."""

from __future__ import annotations
