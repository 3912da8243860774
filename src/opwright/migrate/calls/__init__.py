"""Calls of operators that exist: recorded, repeated with an original and with its port, and compared."""

from __future__ import annotations
