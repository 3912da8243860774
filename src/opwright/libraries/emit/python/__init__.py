"""The Python package of a library: typed functions that call its operators."""

from __future__ import annotations
