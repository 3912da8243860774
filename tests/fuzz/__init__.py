"""Fuzzing: damaged inputs give diagnostics, never a traceback and never a hang."""

from __future__ import annotations
