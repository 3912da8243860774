"""Actions by which build systems generate files: what each reads and writes, and their text for each system."""

from __future__ import annotations
