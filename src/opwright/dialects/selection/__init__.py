"""Selections: the YAML that says which operators a build keeps."""

from __future__ import annotations
