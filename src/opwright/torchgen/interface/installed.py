"""Release that the interface follows where its names take none."""

from __future__ import annotations

from functools import cache

from opwright.release.local import from_installed
from opwright.release.rules import Rules
from opwright.release.tree import rules_of
from opwright.release.version import NEWEST
from opwright.source.diagnostic import Fault


@cache
def installed_rules() -> Rules:
    """Rules of the installed PyTorch, else those of the newest release known."""
    try:
        return rules_of(from_installed())
    except Fault:
        return Rules(NEWEST)
