"""The worker is a program for another Python."""

from __future__ import annotations

collect_ignore = ["worker.py"]
