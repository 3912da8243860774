"""What is not collected here: a program that type checkers read."""

from __future__ import annotations

collect_ignore_glob = ["calls_*.py"]
