"""Tests of plug-ins."""

from __future__ import annotations
