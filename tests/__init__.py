"""The checks of the project."""

from __future__ import annotations
