"""Builds for phones: ExecuTorch, static runtime, selections of operators, and upgraders of old models."""

from __future__ import annotations
