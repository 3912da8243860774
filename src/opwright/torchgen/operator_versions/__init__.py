"""Versions of operators: the names of `torchgen.operator_versions`."""

from __future__ import annotations
