"""`opwright check`: its rules, lints, fixes, settings and reports."""

from __future__ import annotations
