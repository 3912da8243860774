"""What reads a catalog and answers questions about it."""

from __future__ import annotations
