"""What build systems run and read."""

from __future__ import annotations
