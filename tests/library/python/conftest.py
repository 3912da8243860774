"""What is not collected here: programs that are checked or run by tests, and cannot be imported as they are."""

from __future__ import annotations

collect_ignore_glob = ["calls.py", "runtime*.py", "tested.py"]
